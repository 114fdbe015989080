import Foundation
import TestSupport
import Testing

/// `sluice tags` shows and changes tags. Other programs say what the files hold, and that their sound is the same.
struct TagsTests {
    private let material: Material

    init() throws { material = try Material() }

    private func tags(_ words: String...) throws -> Run { try Sluice.run(["tags"] + words, in: material.folder) }
    private func path(_ name: String) -> String { material.path(name) }

    /// A file with a title, made by another program.
    private func make(_ name: String, _ arguments: [String] = []) throws {
        let metadata = ["-metadata", "title=One", "-metadata", "artist=Ada"]
        try FFmpeg.encode(path("talk.wav"), to: path(name), metadata + arguments)
    }

    /// The digest of the packets of sound.
    private func packets(_ name: String) throws -> String {
        try FFmpeg.run(["-i", path(name), "-map", "0:a", "-c", "copy", "-f", "streamhash", "-"]).outputText
    }

    private func record(_ run: Run) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: run.checked().stdout) as? [String: Any])
    }

    // MARK: Showing

    @Test func valuesChaptersAndPicturesAreRows() throws {
        let picture = path("a.png")
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "testsrc=size=60x40", "-frames:v", "1", picture])
        try make("song.flac")
        let comments = ["ARTIST=Bob", "MYFIELD=x", "CHAPTER000=00:00:00.000", "CHAPTER000NAME=The tide"]
        let words = comments.map { "--set-tag=" + $0 } + ["--import-picture-from=4||||" + picture, path("song.flac")]
        try Run.program("metaflac", words).checked()
        let lines = try tags("song.flac").checked().outputText.split(separator: "\n").map(String.init)
        func row(_ name: String, _ value: String) -> Bool {
            lines.contains { $0.hasPrefix(name + " ") && $0.hasSuffix(" " + value) }
        }
        #expect(lines.first?.hasPrefix("TAG ") == true, "\(lines)")
        #expect(row("title", "One") && row("artist", "Ada") && row("MYFIELD", "x"), "\(lines)")
        #expect(row(" ", "Bob") && row("chapter 1", "0:00  The tide"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("picture ") && $0.contains("PNG of 60 x 40, ") }, "\(lines)")
        let record = try record(tags("--json", "song.flac"))
        let found = try #require(record["tags"] as? [String: [String]])
        #expect(found["title"] == ["One"] && found["artist"] == ["Ada", "Bob"] && found["MYFIELD"] == ["x"])
        #expect((record["chapters"] as? [[String: Any]])?.first?["title"] as? String == "The tide")
        #expect((record["pictures"] as? [[String: Any]])?.first?["width"] as? Int == 60)
    }

    @Test func filesAreToldApart() throws {
        try make("song.flac")
        try WAVFile.write(Material.talk, to: path("bare.wav"))
        let run = try tags("song.flac", "bare.wav", "missing.flac")
        #expect(run.status == .exited(3))
        #expect(run.outputText.hasPrefix("song.flac\nTAG"), "\(run.outputText)")
        #expect(run.errorText.contains("note:  bare.wav has no tags\n") && run.errorText.contains("missing.flac"))
        let lines = try tags("--json", "song.flac", "bare.wav").checked().outputText.split(separator: "\n")
        #expect(lines.count == 2)
    }

    /// Of long lyrics, a message holds only a part.
    @Test func whatCannotBeShownIsTold() throws {
        try make("song.flac")
        let lyrics = String(repeating: "la ", count: 25_000)
        try Bytes.write(Array("LYRICS=\(lyrics)\nMOOD=calm\n".utf8), to: path("tags.txt"))
        try tags("--tag-file", "tags.txt", "song.flac").checked()
        let page = try tags("song.flac").checked()
        #expect(page.errorText.contains("only the beginning of lyrics is shown"), "\(page.errorText.prefix(200))")
        let record = try record(tags("--json", "song.flac"))
        #expect(record["shortenedTags"] as? [String] == ["lyrics"])
        let values = try #require(record["tags"] as? [String: [String]])
        #expect(values["mood"] == ["calm"])
        #expect(try tags("--set", "mood=calm", "song.flac").checked().outputText == "song.flac  unchanged\n")
        // What the beginning says is not what the tag says.
        let beginning = try #require(values["lyrics"]?.first)
        try Bytes.write(Array("LYRICS=\(beginning)\n".utf8), to: path("shorter.txt"))
        let shorter = try tags("--tag-file", "shorter.txt", "song.flac").checked()
        #expect(shorter.outputText.hasPrefix("song.flac  changed"), "\(shorter.outputText.prefix(200))")
    }

    // MARK: Changing

    /// All containers that hold tags, and what makes them.
    private static let kinds: [(name: String, codec: String)] = [
        ("a.flac", "flac"), ("a.mp3", "libmp3lame"), ("a.m4a", "aac"), ("a.m4b", "aac"), ("a.ogg", "libvorbis"),
        ("a.opus", "libopus"), ("a.wv", "wavpack"), ("a.wav", "pcm_s16le"), ("a.aiff", "pcm_s16be"),
        ("a.mka", "flac"), ("a.caf", "pcm_s16le"),
    ]

    @Test(arguments: kinds) func soundStaysTheSame(name: String, codec: String) throws {
        try make(name, ["-c:a", codec])
        // ffmpeg reads its own files of AAC too long, and those of Vorbis too short.
        func decoded() throws -> PCM { try FFmpeg.decode(path(name)).cut(0..<23_800) }
        let (before, sound) = (try packets(name), try decoded())
        let run = try tags("--set", "artist=Eve", "--set", "mood=calm", "--remove", "Title", name)
        #expect(run.succeeded, "\(run.errorText)")
        #expect(run.outputText.hasPrefix("\(name)  changed  "), "\(run.outputText)")
        #expect(try packets(name) == before)
        #expect(try decoded() == sound)
        let probe = try FFmpeg.probe(path(name))
        let found = Dictionary(
            [probe.tags, probe.audio.first?.tags ?? [:]].flatMap(\.self).map { ($0.key.lowercased(), $0.value) }
        ) { first, _ in first }
        #expect(found["artist"] == "Eve" && found["title"] == nil, "\(found)")
        // Of WAV, ffmpeg reads the INFO list alone.
        #expect(name == "a.wav" || found["mood"] == "calm" || found["tmoo"] == "calm", "\(found)")
        #expect(try material.folder.names().sorted() == [name, "talk.wav"].sorted())
        let again = try tags("--set", "artist=Eve", "--remove", "title", name)
        #expect(again.outputText == "\(name)  unchanged\n", "\(again.outputText)\(again.errorText)")
    }

    /// The file may call them otherwise: `TSRC` in ID3 is `isrc`, and `Album Artist` in APE `albumartist`.
    @Test(arguments: kinds) func tagsAreKnownByTheNamesOfTheTable(name: String, codec: String) throws {
        try make(name, ["-c:a", codec])
        let wanted = ["isrc": "DEA061200001", "albumartist": "All", "date": "1999"]
        let settings = wanted.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] }
        let words: [String] = ["tags"] + settings + [name]
        try Sluice.run(words, in: material.folder).checked()
        let found = try #require(try record(tags("--json", name))["tags"] as? [String: [String]])
        for (key, value) in wanted { #expect(found[key] == [value], "\(key): \(found)") }
        #expect(try Sluice.run(words, in: material.folder).checked().outputText == "\(name)  unchanged\n")
        #expect(try tags("--remove", "isrc", name).checked().outputText.hasPrefix("\(name)  changed"))
        let left = try #require(try record(tags("--json", name))["tags"] as? [String: [String]])
        #expect(left["isrc"] == nil && left["albumartist"] == ["All"], "\(left)")
        let probe = try FFmpeg.probe(path(name))
        let names = Array(probe.tags.keys) + Array(probe.audio.first?.tags.keys ?? [:].keys)
        #expect(!names.contains { ["tsrc", "isrc"].contains($0.lowercased()) }, "\(names)")
    }

    /// One sets the other's field for each file.
    @Test func valuesComeFromNamesAndFiles() throws {
        for name in ["1 One.flac", "2 Two.flac"] { try make(name) }
        try Bytes.write(Array("GENRE=a\nGENRE=b\nARTIST=\n".utf8), to: path("tags.txt"))
        try Bytes.write(Array("0:00 Start\n0:00.25 Middle\n".utf8), to: path("times.txt"))
        let words = ["--tag-file", "tags.txt", "--chapters", "times.txt", "--set", "title={stem}"]
        try Sluice.run(["tags"] + words + ["1 One.flac", "2 Two.flac"], in: material.folder).checked()
        for name in ["1 One", "2 Two"] {
            let run = try Run.program("metaflac", ["--export-tags-to=-", path(name + ".flac")]).checked()
            let found = run.outputText.split(separator: "\n").map { $0.uppercased() }
            #expect(found.contains("TITLE=\(name.uppercased())"), "\(found)")
            #expect(found.filter { $0.hasPrefix("GENRE=") } == ["GENRE=A", "GENRE=B"], "\(found)")
            #expect(!found.contains { $0.hasPrefix("ARTIST=") }, "\(found)")
            #expect(found.contains("CHAPTER001=00:00:00.250"), "\(found)")
            try Run.program("flac", ["-ts", path(name + ".flac")]).checked()
        }
    }

    @Test func namesOfFoldersAreThoseGivenAndRemoveNothing() throws {
        try FileManager.default.createDirectory(atPath: path("Harbour"), withIntermediateDirectories: true)
        for name in ["Harbour/1.flac", "2.flac"] { try make(name) }
        try tags("--set", "album=Old", "2.flac").checked()
        let words = ["tags", "--set", "album={dir}", "--set", "title=One", "Harbour/1.flac", "2.flac"]
        try Sluice.run(words, in: material.folder).checked()
        for (name, album) in [("Harbour/1.flac", "Harbour"), ("2.flac", "Old")] {
            let found = try FFmpeg.probe(path(name)).tags
            #expect(found.contains { $0.key.lowercased() == "album" && $0.value == album }, "\(found)")
            #expect(found.contains { $0.key.lowercased() == "title" && $0.value == "One" }, "\(found)")
        }
    }

    /// A picture of one colour.
    private func picture(_ name: String, _ colour: String) throws -> [UInt8] {
        let source = "color=\(colour):size=60x40"
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", source, "-frames:v", "1", path(name)])
        return try Bytes.read(path(name))
    }

    /// The pictures of a FLAC file: what they show, and their bytes.
    private func pictures(_ name: String) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        let list = try Run.program("metaflac", ["--list", "--block-type=PICTURE", path(name)]).checked().outputText
        for number in list.split(separator: "\n").compactMap({ $0.split(separator: "#").last.flatMap { Int($0) } }) {
            let target = path("picture-\(number)")
            let words = ["--block-number=\(number)", "--export-picture-to=" + target, path(name)]
            try Run.program("metaflac", words).checked()
            found.append(try Bytes.read(target))
        }
        return found
    }

    /// A cover takes the place of the old one, and not of other pictures.
    @Test func coversAreSet() throws {
        let (red, blue) = (try picture("red.jpg", "red"), try picture("blue.png", "blue"))
        let back = try picture("b.png", "gray")
        try make("song.flac")
        let imports = ["3||||" + path("red.jpg"), "4||||" + path("b.png")].map { "--import-picture-from=" + $0 }
        try Run.program("metaflac", imports + [path("song.flac")]).checked()
        #expect(try pictures("song.flac") == [red, back])
        let before = try packets("song.flac")
        try tags("--cover", "blue.png", "song.flac").checked()
        #expect(try pictures("song.flac") == [blue, back])
        #expect(try packets("song.flac") == before)
        try Sluice.run("convert", "talk.wav", "out.flac", "--cover", "red.jpg", in: material.folder).checked()
        #expect(try pictures("out.flac") == [red])
        let joined = ["join", "talk.wav", "song.flac", "all.flac", "--cover", "blue.png"]
        try Sluice.run(joined, in: material.folder).checked()
        #expect(try pictures("all.flac") == [blue])
        let pieces = ["split", "song.flac", "--at", "0.2", "--to", "{n}.flac", "--cover", "red.jpg"]
        try Sluice.run(pieces, in: material.folder).checked()
        #expect(try pictures("1.flac").first == red && pictures("2.flac").first == red)
        let bare = ["convert", "song.flac", "bare.flac", "--no-tags", "--cover", "red.jpg"]
        try Sluice.run(bare, in: material.folder).checked()
        #expect(try pictures("bare.flac") == [red])
        // A recipe may have a cover, too.
        let recipe = #"""
            {"version": 4, "sources": [{"location": "{source}"}, {"location": "b.png", "use": "cover"}],
             "outputs": [{"location": "x.flac"}]}
            """#
        try Bytes.write(Array(recipe.utf8), to: path("recipe.json"))
        let cases: [([String], [UInt8])] = [
            ([], back), (["--cover", "red.jpg", "--on-conflict", "replace"], red),
        ]
        for (words, wanted) in cases {
            let line = ["convert", "talk.wav", "x.flac", "--recipe", "recipe.json"] + words
            try Sluice.run(line, in: material.folder).checked()
            #expect(try pictures("x.flac") == [wanted])
        }
    }

    @Test func whatIsNoPictureIsRefused() throws {
        try make("song.flac")
        let bytes = try Bytes.read(path("song.flac"))
        try Bytes.write(Array("GIF89a".utf8), to: path("a.gif"))
        let run = try tags("--cover", "a.gif", "song.flac")
        #expect(run.status == .exited(1) && run.errorText.contains("neither a JPEG nor a PNG"), "\(run.errorText)")
        #expect(try tags("--cover", "missing.jpg", "song.flac").status == .exited(4))
        #expect(try tags("--cover", "-", "song.flac").status == .exited(2))
        try Bytes.write([0x89], to: path("large.png"))
        try Bytes.truncate(path("large.png"), to: 17 << 20)
        let large = try tags("--cover", "large.png", "song.flac")
        #expect(large.errorText.contains("code metadata_too_large"), "\(large.errorText)")
        #expect(try Bytes.read(path("song.flac")) == bytes)
        let none = try Sluice.run("convert", "talk.wav", "a.w64", "--cover", "a.gif", in: material.folder)
        #expect(!none.succeeded)
    }

    /// The tags, pictures and chapters of another file, in place of those of the file.
    @Test func tagsComeFromAnotherFile() throws {
        let red = try picture("red.jpg", "red")
        try make("model.flac")
        let comments = ["ARTIST=Bob", "MYFIELD=x", "CHAPTER000=00:00:00.000", "CHAPTER000NAME=The tide"]
        let words = comments.map { "--set-tag=" + $0 } + ["--import-picture-from=" + path("red.jpg")]
        try Run.program("metaflac", words + [path("model.flac")]).checked()
        try FFmpeg.encode(path("talk.wav"), to: path("song.mp3"), ["-metadata", "comment=old", "-c:a", "libmp3lame"])
        let before = try packets("song.mp3")
        try tags("--from", "model.flac", "--set", "title=Two", "song.mp3").checked()
        #expect(try packets("song.mp3") == before)
        let probe = try FFmpeg.probe(path("song.mp3"))
        let found = Dictionary(probe.tags.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        #expect(found["title"] == "Two" && found["myfield"] == "x" && found["comment"] == nil, "\(found)")
        #expect(probe.chapters.map { $0.tags["title"] } == ["The tide"])
        let record = try record(tags("--json", "song.mp3"))
        let values = try #require(record["tags"] as? [String: [String]])
        #expect(values["artist"] == ["Ada", "Bob"])
        #expect((record["pictures"] as? [[String: Any]])?.first?["bytes"] as? Int == red.count)
    }

    @Test func permissionsAndLinksStay() throws {
        try make("song.flac")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path("song.flac"))
        try FileManager.default.createSymbolicLink(atPath: path("link.flac"), withDestinationPath: "song.flac")
        try tags("--set", "album=B", "link.flac").checked()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link.flac")) == "song.flac")
        let facts = try FileManager.default.attributesOfItem(atPath: path("song.flac"))
        #expect(facts[.posixPermissions] as? Int == 0o666)
        #expect(try FFmpeg.probe(path("song.flac")).tags.contains { $0.key.lowercased() == "album" && $0.value == "B" })
    }

    // MARK: Refusals

    /// A file that would lose anything stays as it is.
    @Test func nothingIsLostUnasked() throws {
        try make("song.flac")
        let block = [UInt8]("APPL".utf8) + [1, 2, 3]
        var bytes = try Bytes.read(path("song.flac"))
        // Behind the first block, which has 34 bytes.
        bytes.insert(contentsOf: [2, 0, 0, UInt8(block.count)] + block, at: 42)
        try Bytes.write(bytes, to: path("song.flac"))
        let run = try tags("--set", "title=Two", "song.flac")
        #expect(run.status == .exited(1))
        #expect(run.errorText.contains("block APPLICATION") && run.errorText.contains("code loss_refused"))
        #expect(run.errorText.contains("--allow-loss"), "\(run.errorText)")
        #expect(try Bytes.read(path("song.flac")) == bytes)
        try tags("--allow-loss", "--set", "title=Two", "song.flac").checked()
        #expect(try FFmpeg.probe(path("song.flac")).tags.contains { $0.value == "Two" })
        // What cannot be stored is told as in conversions.
        try make("plain.w64")
        let plain = try Bytes.read(path("plain.w64"))
        let lost = try tags("--set", "title=Two", "plain.w64")
        #expect(lost.status == .exited(1) && lost.errorText.contains("W64 cannot store: title"), "\(lost.errorText)")
        #expect(try Bytes.read(path("plain.w64")) == plain)
    }

    @Test func picturesThatMoveAndFurtherTracksAreNeverLost() throws {
        try material.addTwoTracks()
        try FFmpeg.run([
            "-y", "-f", "lavfi", "-i", "testsrc=size=60x40:duration=0.5", "-i", path("talk.wav"), "-c:v", "mpeg4",
            "-c:a", "aac", path("film.mp4"),
        ])
        for name in ["two.mka", "film.mp4"] {
            let bytes = try Bytes.read(path(name))
            let run = try tags("--allow-loss", "--set", "title=Two", name)
            #expect(run.status == .exited(1) && run.errorText.contains("code loss_refused"), "\(run.errorText)")
            #expect(try Bytes.read(path(name)) == bytes)
        }
    }

    @Test func framesAndChunksThatAreNotKeptAreNamed() throws {
        try make("song.mp3", ["-c:a", "libmp3lame"])
        var song = try Bytes.read(path("song.mp3"))
        let frame = [UInt8]("POPM".utf8) + [0, 0, 0, 3, 0, 0] + [0x61, 0, 255]
        song.insert(contentsOf: frame, at: 10)
        // The size of the tag, seven bits to a byte.
        let length = song[6..<10].reduce(0) { $0 << 7 | Int($1) } + frame.count
        for index in 0..<4 { song[6 + index] = UInt8(length >> (7 * (3 - index)) & 0x7F) }
        try Bytes.write(song, to: path("song.mp3"))
        let mp3 = try tags("--set", "title=Two", "song.mp3")
        #expect(mp3.errorText.contains("frame POPM"), "\(mp3.errorText)")
        // A header of an old encoder, without LAME's delay.
        try make("old.mp3", ["-c:a", "libmp3lame", "-q:a", "2"])
        var old = try Bytes.read(path("old.mp3"))
        let info = try #require(Bytes.find("Xing", in: old))
        for place in (info + 120)..<(info + 156) { old[place] = 0 }
        try Bytes.write(old, to: path("old.mp3"))
        let run = try tags("--set", "title=Two", "old.mp3")
        #expect(run.errorText.contains("header Xing"), "\(run.errorText)")
        var wave = try Bytes.read(path("talk.wav"))
        wave += [UInt8]("smpl".utf8) + [4, 0, 0, 0, 1, 2, 3, 4]
        let size = withUnsafeBytes(of: UInt32(wave.count - 8).littleEndian, Array.init)
        wave.replaceSubrange(4..<8, with: size)
        try Bytes.write(wave, to: path("talk.wav"))
        let wav = try tags("--set", "title=Two", "talk.wav")
        #expect(wav.errorText.contains("chunk smpl"), "\(wav.errorText)")
    }

    @Test func changesOfNothingAreRefused() throws {
        try make("song.flac")
        #expect(try tags("--set", "title=A", "--remove", "TITLE", "song.flac").status == .exited(2))
        #expect(try tags("--set", "encoder=Mine", "song.flac").status == .exited(2))
        #expect(try tags("--allow-loss", "song.flac").status == .exited(2))
        #expect(try tags("--set", "title=A", "-").status == .exited(2))
        #expect(try tags("--set", "title=A", "missing.flac").status == .exited(4))
        let record = try record(tags("--json", "--set", "title=A", "song.flac"))
        #expect(record["state"] as? String == "completed" && record["source"] as? String == "song.flac")
    }
}
