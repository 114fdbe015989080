import Foundation
import TestSupport
import Testing

/// What `sluice tags` must not lose of a file, and must not take from another one.
struct TagLossTests {
    private let material: Material

    init() throws { material = try Material() }

    private func tags(_ words: String...) throws -> Run { try Sluice.run(["tags"] + words, in: material.folder) }
    private func path(_ name: String) -> String { material.path(name) }

    /// The tags of a file as ffprobe shows them, with small letters in their names.
    private func found(_ name: String) throws -> [String: String] {
        let tags = try FFmpeg.probe(path(name)).tags
        return Dictionary(tags.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    // MARK: Tags of another file

    private func makeTake(_ name: String, _ fields: [String]) throws {
        let metadata: [String] = fields.flatMap { ["-metadata", $0] }
        try FFmpeg.encode(path("talk.wav"), to: path(name), ["-write_bext", "1"] + metadata)
    }

    @Test func timeCodeStaysThatOfTheFile() throws {
        try makeTake("1.wav", ["title=One", "description=A take", "time_reference=441000", "originator_reference=AAA"])
        try makeTake("2.wav", ["title=Two", "time_reference=96000", "originator_reference=BBB"])
        try tags("--from", "1.wav", "2.wav").checked()
        let tags = try found("2.wav")
        #expect(tags["title"] == "One" && tags["time_reference"] == "96000", "\(tags)")
        #expect(tags["originator_reference"] == "BBB", "\(tags)")
        // A file without a time code gets none.
        try FFmpeg.encode(path("talk.wav"), to: path("3.flac"), ["-metadata", "title=Three"])
        try self.tags("--from", "1.wav", "3.flac").checked()
        let others = try found("3.flac")
        #expect(others["title"] == "One" && others["time_reference"] == nil, "\(others)")
        #expect(others["originator_reference"] == nil && others["umid"] == nil, "\(others)")
    }

    @Test func loudnessStaysThatOfTheFile() throws {
        let model = ["title=One", "replaygain_track_gain=-9.00 dB", "r128_track_gain=512"]
        try FFmpeg.encode(path("talk.wav"), to: path("model.flac"), model.flatMap { ["-metadata", $0] })
        let own = ["title=Two", "replaygain_track_gain=-3.00 dB"]
        try FFmpeg.encode(path("talk.wav"), to: path("song.mp3"), own.flatMap { ["-metadata", $0] })
        try tags("--from", "model.flac", "song.mp3").checked()
        let tags = try found("song.mp3")
        #expect(tags["title"] == "One" && tags["replaygain_track_gain"] == "-3.00 dB", "\(tags)")
        #expect(tags["r128_track_gain"] == nil, "\(tags)")
    }

    /// The first track of the sheet begins with the file, so that it also fits the shorter file.
    @Test(arguments: [(24_000, true), (20_000, true), (12_000, false)])
    func sheetsComeFromFilesOfTheSameLength(frames: Int, isTaken: Bool) throws {
        let sheet = "FILE \"a.wav\" WAVE\n  TRACK 01 AUDIO\n    TITLE \"The tide\"\n    INDEX 01 00:00:00\n"
        try FFmpeg.encode(path("talk.wav"), to: path("model.flac"), ["-metadata", "title=One"])
        try Run.program("metaflac", ["--set-tag=CUESHEET=" + sheet, path("model.flac")]).checked()
        try FFmpeg.encode(Material.talk.cut(0..<frames), to: path("song.flac"))
        try tags("--from", "model.flac", "song.flac").checked()
        let tags = try found("song.flac")
        #expect(tags["title"] == "One" && (tags["cuesheet"] != nil) == isTaken, "\(tags)")
    }

    // MARK: Parts of the file itself

    /// The points of a seek table as metaflac shows them.
    private func points(_ name: String) throws -> [Substring] {
        let run = try Run.program("metaflac", ["--list", "--block-type=SEEKTABLE", path(name)]).checked()
        return run.outputText.split(separator: "\n").filter { $0.contains("point ") }
    }

    /// One is larger than what libav leaves for it.
    @Test(arguments: [0, 600]) func seekTablesStay(placeholders: Int) throws {
        try FFmpeg.encode(path("talk.wav"), to: path("song.flac"), ["-metadata", "title=One", "-frame_size", "1024"])
        let words = ["--add-seekpoint=10x"] + Array(repeating: "--add-seekpoint=X", count: placeholders)
        try Run.program("metaflac", words + [path("song.flac")]).checked()
        let before = try points("song.flac")
        #expect(before.count >= 10 + placeholders)
        try tags("--set", "title=Two", "--set", "artist=Ada", "song.flac").checked()
        #expect(try points("song.flac") == before)
        try Run.program("flac", ["-ts", path("song.flac")]).checked()
        #expect(try found("song.flac")["title"] == "Two")
        // Sound that is encoded anew has other frames.
        try Sluice.run("convert", "song.flac", "new.flac", in: material.folder).checked()
        #expect(try points("new.flac") == [])
    }

    /// The new tag has them.
    @Test func fieldsOfID3v1AreTakenOver() throws {
        try FFmpeg.encode(path("talk.wav"), to: path("song.mp3"), ["-metadata", "title=One"])
        let field = Array("Only here".utf8)
        let old: [UInt8] = Array("TAG".utf8) + [UInt8](repeating: 0, count: 94) + field
        let bytes = try Bytes.read(path("song.mp3")) + old + [UInt8](repeating: 0, count: 30 - field.count) + [255]
        try Bytes.write(bytes, to: path("song.mp3"))
        try tags("--set", "title=Two", "song.mp3").checked()
        let found = try found("song.mp3")
        #expect(found["title"] == "Two" && found["comment"] == "Only here", "\(found)")
    }

    /// What is named stays, unless the user permits the loss.
    @Test func lyricsAtTheEndAreNotLostUnasked() throws {
        try FFmpeg.encode(path("talk.wav"), to: path("song.mp3"), ["-metadata", "title=One"])
        let bytes = try Bytes.read(path("song.mp3")) + Array("LYRICSBEGININD0000210000021LYRICS200".utf8)
        try Bytes.write(bytes, to: path("song.mp3"))
        let run = try tags("--set", "title=Two", "song.mp3")
        #expect(run.status == .exited(1) && run.errorText.contains("Lyrics3 tag"), "\(run.errorText)")
        #expect(try Bytes.read(path("song.mp3")) == bytes)
        try tags("--allow-loss", "--set", "title=Two", "song.mp3").checked()
        #expect(try found("song.mp3")["title"] == "Two")
    }
}
