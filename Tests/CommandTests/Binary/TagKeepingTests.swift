import Foundation
import TestSupport
import Testing

/// What `sluice tags` keeps of a file beside what it changes, and what it says of the rest.
struct TagKeepingTests {
    private let material: Material

    init() throws { material = try Material() }

    private func tags(_ words: String...) throws -> Run { try Sluice.run(["tags"] + words, in: material.folder) }
    private func path(_ name: String) -> String { material.path(name) }

    private func make(_ name: String, _ arguments: [String] = []) throws {
        try FFmpeg.encode(path("talk.wav"), to: path(name), ["-metadata", "title=One"] + arguments)
    }

    /// The tags of a file, under names in small letters.
    private func found(_ name: String) throws -> [String: String] {
        Dictionary(try FFmpeg.probe(path(name)).tags.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    // MARK: About the packets

    private let levels = " 00000ABC 00000ABD"

    /// An encoder's settings and the levels that iTunes has measured are false of other packets, and these stay.
    @Test func whatTagsSayOfThePacketsStays() throws {
        try make("song.flac", ["-metadata", "ENCODERSETTINGS=-8", "-metadata", "iTunNORM=\(levels)"])
        try tags("--set", "title=Two", "song.flac").checked()
        let kept = try found("song.flac")
        #expect(kept["title"] == "Two" && kept["encodersettings"] == "-8" && kept["itunnorm"] == levels, "\(kept)")
        try tags("--remove", "encodersettings", "song.flac").checked()
        let left = try found("song.flac")
        #expect(left["encodersettings"] == nil && left["itunnorm"] == levels, "\(left)")
        try Sluice.run("convert", "song.flac", "other.flac", in: material.folder).checked()
        #expect(try found("other.flac")["itunnorm"] == nil)
    }

    /// In MP3 they are a comment with a name, where iTunes looks for them.
    @Test func levelsOfITunesStayInTheirComment() throws {
        try make("song.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "3"])
        var song = try Bytes.read(path("song.mp3"))
        let content: [UInt8] = [0] + Array("eng".utf8) + Array("iTunNORM".utf8) + [0] + Array(levels.utf8)
        let head: [UInt8] = Array("COMM".utf8) + [0, 0, 0, UInt8(content.count), 0, 0]
        song.insert(contentsOf: head + content, at: 10)
        // The size of the tag, seven bits to a byte.
        let length = song[6..<10].reduce(0) { $0 << 7 | Int($1) } + head.count + content.count
        for index in 0..<4 { song[6 + index] = UInt8(length >> (7 * (3 - index)) & 0x7F) }
        try Bytes.write(song, to: path("song.mp3"))
        #expect(try found("song.mp3")["itunnorm"] == levels)
        try tags("--set", "title=Two", "song.mp3").checked()
        #expect(try found("song.mp3") == ["title": "Two", "itunnorm": levels])
        #expect(Bytes.find(head + content, in: try Bytes.read(path("song.mp3"))) != nil)
    }

    /// Lists that programs have made name the encoder, which no output takes from them.
    @Test func encodersInListsAreLeftOut() throws {
        try make("song.flac")
        try Bytes.write(Array("ENCODER=Mine\nMOOD=calm\n".utf8), to: path("tags.txt"))
        let run = try tags("--tag-file", "tags.txt", "song.flac").checked()
        #expect(run.outputText.hasPrefix("song.flac  changed"), "\(run.outputText)")
        #expect(try found("song.flac")["mood"] == "calm")
        let again = try tags("--tag-file", "tags.txt", "song.flac").checked()
        #expect(again.outputText == "song.flac  unchanged\n")
    }

    // MARK: The sound

    /// Containers that count or mark their sound otherwise than most.
    private static let odd: [(name: String, options: [String])] = [
        ("no-header.mp3", ["-c:a", "libmp3lame", "-write_xing", "0"]),
        ("variable.mp3", ["-c:a", "libmp3lame", "-q:a", "2"]), ("a.aac", ["-c:a", "aac"]),
        ("rf64.wav", ["-rf64", "always"]),
    ]

    private func sound(_ name: String) throws -> [String] {
        let copied = ["-i", path(name), "-map", "0:a", "-c", "copy", "-f", "streamhash", "-"]
        return [try FFmpeg.run(copied).outputText, try FFmpeg.run(["-i", path(name), "-f", "md5", "-"]).outputText]
    }

    @Test(arguments: odd) func oddSoundStaysTheSame(name: String, options: [String]) throws {
        try make(name, options)
        let before = try sound(name)
        try tags("--set", "title=Two", name).checked()
        #expect(try sound(name) == before)
        #expect(try found(name)["title"] == "Two")
    }

    /// The edit list of this file leaves out the first tenth of a second, within packets.
    @Test func editsOfMP4Stay() throws {
        try make("whole.m4a", ["-c:a", "aac"])
        try FFmpeg.run(["-y", "-ss", "0.1", "-i", path("whole.m4a"), "-c", "copy", path("cut.m4a")])
        let before = try sound("cut.m4a")
        #expect(try before != sound("whole.m4a"))
        try tags("--set", "title=Two", "cut.m4a").checked()
        #expect(try sound("cut.m4a") == before)
    }

    // MARK: Other files

    /// Inside, the new file has a name before it takes the place of the old one.
    @Test func namesOfFilesDoNotMatter() throws {
        for name in ["tagged.flac", "song.flac"] { try make(name) }
        try tags("--set", "title=Two", "tagged.flac").checked()
        #expect(try found("tagged.flac")["title"] == "Two")
        try tags("--from", "tagged.flac", "song.flac").checked()
        #expect(try found("song.flac")["title"] == "Two")
    }

    /// The song has a cover, and would have none.
    @Test func whatTheGivingFileLosesIsTold() throws {
        for name in ["a.gif", "a.png"] {
            try FFmpeg.run(["-y", "-f", "lavfi", "-i", "testsrc=size=60x40", "-frames:v", "1", path(name)])
        }
        for (name, picture) in [("model.flac", "a.gif"), ("song.flac", "a.png")] {
            try make(name)
            try Run.program("metaflac", ["--import-picture-from=" + path(picture), path(name)]).checked()
        }
        let bytes = try Bytes.read(path("song.flac"))
        let run = try tags("--from", "model.flac", "song.flac")
        #expect(run.status == .exited(1) && run.errorText.contains("code loss_refused"), "\(run.errorText)")
        #expect(run.errorText.contains("1 picture was not carried over: outputs can hold only PNG and JPEG"))
        #expect(try Bytes.read(path("song.flac")) == bytes)
        let lax = try tags("--allow-loss", "--from", "model.flac", "song.flac").checked()
        #expect(lax.errorText.contains("1 picture was not carried over"), "\(lax.errorText)")
    }

    /// A message says what the file has.
    @Test func furtherTracksAndVideoAreNamed() throws {
        try material.addTwoTracks()
        let two = try tags("--set", "title=Two", "two.mka")
        #expect(two.errorText.contains("it has 2 audio tracks; "), "\(two.errorText)")
        try FFmpeg.run([
            "-y", "-f", "lavfi", "-i", "testsrc=size=60x40:duration=0.5", "-i", path("talk.wav"), "-c:v", "mpeg4",
            "-c:a", "aac", path("film.mp4"),
        ])
        let film = try tags("--set", "title=Two", "film.mp4")
        #expect(film.errorText.contains("it has 1 audio track and 1 video or subtitle stream; "), "\(film.errorText)")
    }
}
