import Conversion
import Foundation
import TestSupport
import Testing

/// `sluice split`, as users call it. The samples of the pieces are compared with the source's.
struct SplitTests {
    let material: Material
    private let talk = Material.talk

    init() throws { material = try Material() }

    private func sluice(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }
    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: material.path(name)) }
    private func decoded(_ name: String) throws -> PCM {
        let wave = material.path("decoded.wav")
        try FFmpeg.encode(material.path(name), to: wave, ["-c:a", "pcm_s16le"])
        return try WAVFile.read(path: wave)
    }

    @Test func piecesFollowEachOtherToTheFrame() throws {
        let run = try sluice("split", "talk.wav", "--at", "0.1,12345/48000", "--to", "{stem}-{n}.wav")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(run.outputText.split(separator: "\n").count == 3)
        #expect(try samples("talk-1.wav") == talk.cut(0..<4_800))
        #expect(try samples("talk-2.wav") == talk.cut(4_800..<12_345))
        #expect(try samples("talk-3.wav") == talk.cut(12_345..<24_000))
    }

    @Test func equalPiecesHaveNumbersThatSort() throws {
        #expect(try sluice("split", "talk.wav", "--at", "every 0.05", "--to", "{n}.flac").succeeded)
        let names = try material.folder.names().filter { $0.hasSuffix(".flac") }.sorted()
        #expect(names == (1...10).map { ($0 < 10 ? "0" : "") + "\($0).flac" })
        for (index, name) in names.enumerated() {
            #expect(try decoded(name) == talk.cut(index * 2_400..<(index + 1) * 2_400), "\(name)")
            let tags = try FFmpeg.probe(material.path(name)).tags
            #expect(tags["track"] == "\(index + 1)" && tags["TRACKTOTAL"] == "10", "\(tags)")
            #expect(tags.first { $0.key.lowercased() == "title" }?.value == "A talk", "\(tags)")
        }
    }

    @Test func chaptersBecomeFilesWithTheirTitles() throws {
        let chapters = """
            ;FFMETADATA1
            title=Book
            [CHAPTER]
            TIMEBASE=1/1000
            START=100
            END=300
            title=One/Two
            [CHAPTER]
            TIMEBASE=1/1000
            START=300
            END=500
            title=Three
            """
        try Bytes.write(Array(chapters.utf8), to: material.path("chapters.txt"))
        try FFmpeg.run(
            [
                "-i", material.path("talk.wav"), "-i", material.path("chapters.txt"), "-map_metadata", "1",
                "-map_chapters", "1", "-c:a", "flac", material.path("book.mka"),
            ]
        )
        let run = try sluice("split", "book.mka", "--at", "chapters", "--to", "{n} {title}.wav")
        #expect(run.succeeded && run.errorText.isEmpty, "\(run.errorText)")
        #expect(try samples("1 book.wav") == talk.cut(0..<4_800))
        #expect(try samples("2 One-Two.wav") == talk.cut(4_800..<14_400))
        #expect(try samples("3 Three.wav") == talk.cut(14_400..<24_000))
        #expect(try FFmpeg.probe(material.path("2 One-Two.wav")).tags["title"] == "One/Two")
        #expect(try FFmpeg.probe(material.path("1 book.wav")).tags["title"] == "Book")

        // A piece that is one chapter loses nothing, and a piece of two does where chapters have no place.
        let words = ["split", "book.mka", "--strict-loss", "--to", "strict {n}.wav", "--at"]
        let strict = try Sluice.run(words + ["chapters"], in: material.folder)
        #expect(strict.succeeded, "\(strict.errorText)")
        #expect(try samples("strict 2.wav") == talk.cut(4_800..<14_400))
        let other = ["split", "book.mka", "--strict-loss", "--to", "strict {n}.w64", "--at", "0.05"]
        let mixed = try Sluice.run(other, in: material.folder)
        #expect(mixed.errorText.contains("2 chapters were not carried over"), "\(mixed.errorText)")
        let names = try material.folder.names()
        #expect(!names.contains { $0.hasSuffix(".w64") }, "a failure makes no file")
    }

    /// A 75th of a second has 640 frames here.
    private static let sheet = """
        REM DATE 1999
        PERFORMER "Ada"
        TITLE "The record"
        FILE "elsewhere.wav" WAVE
          TRACK 01 AUDIO
            TITLE "One/Two"
            ISRC DEA061200001
            INDEX 01 00:00:02
          TRACK 02 AUDIO
            TITLE "Caf\u{E9}"
            PERFORMER "Eve"
            INDEX 00 00:00:10
            INDEX 01 00:00:15
        """

    /// In the code page of Windows, as old sheets are.
    @Test func tracksOfASheetBesideTheFileBecomeFilesWithItsTags() throws {
        try Bytes.write(Self.sheet.unicodeScalars.map { UInt8($0.value) }, to: material.path("talk.cue"))
        let run = try sluice("split", "talk.wav", "--at", "cue", "--to", "{n} {title}.flac", "--tag", "Artist=Eva")
        #expect(run.succeeded && run.errorText.isEmpty, "\(run.errorText)")
        let (one, two) = ("1 One-Two.flac", "2 Caf\u{E9}.flac")
        // The little before the first track belongs to it.
        #expect(try decoded(one) == talk.cut(0..<9_600))
        #expect(try decoded(two) == talk.cut(9_600..<24_000))
        func tags(_ name: String) throws -> [String] {
            let path = material.path(name)
            let listed = try Run.program("metaflac", ["--export-tags-to=-", path]).checked().outputText
            return listed.split(separator: "\n").map { line in
                let name = line.prefix { $0 != "=" }
                return name.uppercased() + line.dropFirst(name.count)
            }
        }
        let ofDisc: [String] = ["ALBUM=The record", "ALBUMARTIST=Ada", "ARTIST=Eva", "DATE=1999", "TRACKTOTAL=2"]
        let ofOne: [String] = ["TITLE=One/Two", "TRACKNUMBER=1", "ISRC=DEA061200001"]
        let ofTwo: [String] = ["TITLE=Caf\u{E9}", "TRACKNUMBER=2"]
        let (first, second) = (try tags(one), try tags(two))
        #expect((ofDisc + ofOne).allSatisfy { first.contains($0) }, "\(first)")
        #expect((ofDisc + ofTwo).allSatisfy { second.contains($0) }, "\(second)")
        #expect(!second.contains { $0.hasPrefix("ISRC") }, "\(second)")
    }

    /// Tags have several names: those of the user count, whichever they are.
    @Test func tagsOfTheUserWinUnderAllTheirNames() throws {
        try Bytes.write(Array(Self.sheet.utf8), to: material.path("talk.cue"))
        let set = ["--tag", "album_artist=Eva", "--tag", "totaltracks=20"]
        let words = ["split", "talk.wav", "--at", "cue", "--to", "{n}.flac"] + set
        _ = try Sluice.run(words, in: material.folder).checked()
        let listed = try Run.program("metaflac", ["--export-tags-to=-", material.path("2.flac")]).checked().outputText
        let tags = listed.split(separator: "\n").map(String.init)
        func values(_ name: String) -> [String] {
            tags.filter { $0.uppercased().hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        #expect(values("ALBUMARTIST") == ["Eva"] && values("ALBUM_ARTIST").isEmpty, "\(tags)")
        #expect(values("TRACKNUMBER") == ["2"] && values("TRACKTOTAL") == ["20"], "\(tags)")
        let numbered = ["--tag", "tracknumber=5", "--on-conflict", "replace"]
        let again = try Sluice.run(words + numbered, in: material.folder)
        #expect(again.succeeded, "\(again.errorText)")
        let number = try Run.program("metaflac", ["--show-tag=TRACKNUMBER", material.path("2.flac")]).checked()
        #expect(number.outputText.uppercased() == "TRACKNUMBER=5\n", "\(number.outputText)")
    }

    @Test func longSoundBeforeTheFirstTrackIsTrackZero() throws {
        let sound = Signal.sweep(rate: 8_000, frames: 64_000).pcm(.s16)
        try WAVFile.write(sound, to: material.path("disc.wav"))
        let sheet = "FILE \"disc.wav\" WAVE\nTRACK 01 AUDIO\nINDEX 01 00:06:00\nTRACK 02 AUDIO\nINDEX 01 00:07:00\n"
        try Bytes.write(Array(sheet.utf8), to: material.path("disc.wav.cue"))
        let run = try sluice("split", "disc.wav", "--at", "cue", "--to", "t{n}.wav")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try samples("t0.wav") == sound.cut(0..<48_000))
        #expect(try samples("t1.wav") == sound.cut(48_000..<56_000))
        #expect(try samples("t2.wav") == sound.cut(56_000..<64_000))
    }

    /// Without one beside the file, as rippers keep it. It has the same meaning there.
    @Test func tracksOfASheetInTheFileBecomeFiles() throws {
        try Bytes.write(Array(Self.sheet.utf8), to: material.path("in.cue"))
        try Run.program("flac", ["-s", material.path("talk.wav"), "-o", material.path("whole.flac")]).checked()
        let words = ["--set-tag-from-file=CUESHEET=" + material.path("in.cue"), material.path("whole.flac")]
        try Run.program("metaflac", words).checked()
        let run = try sluice("split", "whole.flac", "--at", "cue", "--to", "{n} {title}.wav", "--strict-loss")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try samples("1 One-Two.wav") == talk.cut(0..<9_600))
        #expect(try samples("2 Caf\u{E9}.wav") == talk.cut(9_600..<24_000))
        let pieces = try material.folder.names().filter { $0.first?.isNumber == true }
        #expect(pieces.count == 2, "\(pieces)")
        let first = try FFmpeg.probe(material.path("1 One-Two.wav")).tags
        let second = try FFmpeg.probe(material.path("2 Caf\u{E9}.wav")).tags
        #expect(first["artist"] == "Ada" && first["track"] == "1/2" && first["album"] == "The record", "\(first)")
        #expect(second["artist"] == "Eve" && second["track"] == "2/2" && second["title"] == "Caf\u{E9}", "\(second)")
    }

    /// A sheet in the tags that does not describe the file says why, if the file has no chapters either.
    @Test func sheetsInTheFileThatCannotBeUsedAreNamed() throws {
        for (sheet, message) in [
            ("FILE a WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:45", "0:00.6 is beyond the end"),
            ("TRACK 01 AUDIO\nINDEX 01 1", "the CUE sheet in its tags: line 2: 1 is not minutes, seconds and 75ths"),
        ] {
            try FFmpeg.encode(talk, to: material.path("whole.flac"), ["-metadata", "CUESHEET=" + sheet])
            let run = try sluice("split", "whole.flac", "--at", "cue", "--to", "{n}.wav")
            #expect(run.errorText.contains(message) && run.status == .exited(1), "\(run.errorText)")
        }
    }

    @Test func sheetsThatCannotBeUsedAreNamed() throws {
        let late = "FILE a WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:45"
        for (sheet, message) in [
            (late, "0:00.6 is beyond the end"), ("FILE a WAVE\n", "the CUE sheet has no tracks of this file"),
            (late + "\nFILE b WAVE", "of several FILE lines in the sheet, one must name this file"),
            ("TRACK 01 AUDIO\nINDEX 01 1", "talk.cue: line 2: 1 is not minutes, seconds and 75ths"),
        ] {
            try Bytes.write(Array(sheet.utf8), to: material.path("talk.cue"))
            let run = try sluice("split", "talk.wav", "--at", "cue", "--to", "{n}.wav")
            #expect(run.errorText.contains(message), "\(run.errorText)")
            #expect(run.status == .exited(1))
        }
    }

    /// Without a header that counts its frames, MP3 states no length, and the whole file is decoded first.
    @Test func aLengthThatIsNotStatedIsFound() throws {
        let noise = Signal.noise(seed: 5, rate: 48_000, frames: 60_000).pcm(.s16)
        try FFmpeg.encode(noise, to: material.path("noise.mp3"), ["-write_xing", "0"])
        // Floats have no dither, which begins anew in each piece.
        let floats = ["--float", "--bits", "32"]
        #expect(try Sluice.run(["convert", "noise.mp3", "all.wav"] + floats, in: material.folder).succeeded)
        let words = ["split", "noise.mp3", "--at", "every 0.5", "--to", "{n}.wav"]
        #expect(try Sluice.run(words + floats, in: material.folder).succeeded)
        let (all, parts) = (try samples("all.wav"), [try samples("1.wav"), try samples("2.wav"), try samples("3.wav")])
        #expect(parts.map(\.frames) == [24_000, 24_000, all.frames - 48_000])
        #expect(try PCM.joined(parts) == all)
    }

    /// Sound, silence and sound, with silence at both ends: cuts are in the middle of the silences between sounds.
    @Test func silenceDividesPieces() throws {
        let sound = Signal.noise(seed: 3, rate: 48_000, frames: 24_000, channels: 2, amplitude: 0.5)
        func quiet(_ frames: Int) -> Signal {
            Signal.noise(seed: 4, rate: 48_000, frames: frames, channels: 2, amplitude: 0.0005)
        }
        // Edges that are loud in one channel only, so that each sound ends where it should.
        var edged = sound.channels
        (edged[0][0], edged[1][0], edged[0][23_999], edged[1][23_999]) = (0, 0.1, -0.1, 0)
        let loud = Signal(rate: 48_000, channels: edged)
        let whole = [quiet(40_000), loud, quiet(24_001), loud, quiet(9_000), loud, quiet(30_000), loud, quiet(48_000)]
        let tape = whole.dropFirst().reduce(whole[0]) { $0.followed(by: $1) }.pcm(.s16)
        try WAVFile.write(tape, to: material.path("tape.wav"))
        let run = try sluice("split", "tape.wav", "--at", "silence", "--to", "{stem}-{n}.wav")
        #expect(run.succeeded, "\(run.errorText)")
        // 24,001 and 30,000 frames are half a second or more, and 9,000 are not.
        let first = 64_000 + 12_000
        let second = 64_000 + 24_001 + 24_000 + 9_000 + 24_000 + 15_000
        #expect(try samples("tape-1.wav") == tape.cut(0..<first))
        #expect(try samples("tape-2.wav") == tape.cut(first..<second))
        #expect(try samples("tape-3.wav") == tape.cut(second..<tape.frames))
        #expect(FileManager.default.fileExists(atPath: material.path("tape-4.wav")) == false)

        try FFmpeg.encode(tape, to: material.path("tape.flac"))
        let words = ["split", "tape.flac", "--at", "silence -60dB/0.1s", "--to", "short {n}.wav", "--strict-loss"]
        let short = try Sluice.run(words, in: material.folder)
        #expect(short.succeeded, "\(short.errorText)")
        let pieces = try (1...4).map { try samples("short \($0).wav") }
        #expect(try PCM.joined(pieces) == tape)
        #expect(pieces[1].frames == 12_001 + 24_000 + 4_500)
    }

    @Test func silenceThatIsNotFoundIsSaid() throws {
        let run = try sluice("split", "talk.wav", "--at", "silence", "--to", "{n}.wav")
        #expect(run.errorText.hasPrefix("error: talk.wav: no silence of at least 0:00.5 between sounds"))
        #expect(run.errorText.contains("hint:  allow a higher level or a shorter silence"), "\(run.errorText)")
        #expect(run.status == .exited(1))
        for words in ["silence 1s", "silence -60dB/0", "silence -60dB/1s/end", "silence +1dB/1s"] {
            let refused = try sluice("split", "talk.wav", "--at", words, "--to", "{n}.wav")
            #expect(refused.errorText.hasPrefix("error: --at \"\(words)\": "), "\(refused.errorText)")
            #expect(refused.status == .exited(2))
        }
        #expect(try material.folder.names() == ["talk.wav"])
    }

    @Test func whatIsThereIsKeptAndGoneOnFrom() throws {
        try Bytes.write(Array("mine".utf8), to: material.path("2.wav"))
        let refused = try sluice("split", "talk.wav", "--at", "0.1,0.2", "--to", "{n}.wav")
        #expect(refused.errorText.hasPrefix("error: 2.wav already exists; nothing was written\n"))
        #expect(refused.status == (try sluice("convert", "talk.wav", "2.wav")).status)
        #expect(try material.folder.names() == ["2.wav", "talk.wav"])
        let run = try Sluice.run(
            ["split", "talk.wav", "--at", "0.1,0.2", "--to", "{n}.wav", "--on-conflict", "skip", "--json"],
            in: material.folder
        )
        let states = run.outputText.split(separator: "\n").map { line in
            (try? JSONDecoder().decode([String: AnyState].self, from: Data(line.utf8)))?["state"]?.text
        }
        #expect(states == ["completed", "skipped", "completed"])
        #expect(try Bytes.read(material.path("2.wav")) == Array("mine".utf8))
        #expect(try samples("3.wav") == talk.cut(9_600..<24_000))
    }

    /// Only the text of a value that may be anything.
    private struct AnyState: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }

    /// In AAC, generated noise depends on what was decoded before: only one decode makes pieces that are the whole.
    @Test func oneDecodeMakesAllPieces() throws {
        let noise = Signal.noise(seed: 8, rate: 48_000, frames: 96_000, amplitude: 0.02).pcm(.s16)
        try FFmpeg.encode(noise, to: material.path("noise.m4a"), ["-c:a", "aac", "-aac_pns", "1", "-b:a", "48k"])
        let floats = ["--float", "--bits", "32"]
        #expect(try Sluice.run(["convert", "noise.m4a", "all.wav"] + floats, in: material.folder).succeeded)
        let words = ["split", "noise.m4a", "--at", "0.7,1.3", "--to", "{n}.wav"]
        #expect(try Sluice.run(words + floats, in: material.folder).succeeded)
        #expect(try PCM.joined((1...3).map { try samples("\($0).wav") }) == samples("all.wav"))
    }

    @Test func manyPiecesTakeSeveralDecodes() throws {
        let run = try sluice("split", "talk.wav", "--at", "every 0.002", "--to", "{n}.wav", "--json")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(run.outputText.split(separator: "\n").count == 250)
        let names = try material.folder.names().filter { $0 != "talk.wav" }.sorted()
        #expect(names.count == 250 && names.first == "001.wav" && names.last == "250.wav")
        #expect(try PCM.joined(names.map(samples)) == talk)
    }

    /// The pieces of one decode appear together: a failure leaves none of them, and those of an earlier decode stay.
    @Test func piecesOfAFailedDecodeDoNotAppear() throws {
        try material.addDamaged()
        let run = try sluice("split", "damaged.flac", "--at", "0.1,0.2", "--to", "{n}.wav")
        #expect(run.status == (try sluice("convert", "damaged.flac", "all.wav")).status && !run.succeeded)
        #expect(!run.errorText.contains("were written"), "\(run.errorText)")
        #expect(try material.folder.names() == ["damaged.flac", "talk.wav"])

        let many = try sluice("split", "damaged.flac", "--at", "every 0.001", "--to", "{n}.wav")
        #expect(many.errorText.contains("400 of 1,000 pieces were written\n"), "\(many.errorText)")
        let names = try material.folder.names().filter { $0.hasSuffix(".wav") && $0 != "talk.wav" }.sorted()
        #expect(names.count == 400 && names.last == "0400.wav")
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 48_000).pcm(.s16)
        #expect(try samples("0400.wav") == noise.cut(19_152..<19_200))
    }

    /// What is left out moves all later cuts of the same decode, so each piece has a decode of its own.
    @Test func damageThatIsLeftOutMovesNoCut() throws {
        try material.addDamaged()
        let run = try sluice("split", "damaged.flac", "--at", "0.9", "--to", "{n}.wav", "--on-damage", "skip")
        #expect(run.succeeded, "\(run.errorText)")
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 48_000).pcm(.s16)
        #expect(try samples("1.wav").frames < 43_200)
        #expect(try samples("2.wav") == noise.cut(43_200..<48_000))
    }

    @Test(arguments: [
        (
            ["--at", "0.6", "--to", "{n}.wav"], "error: talk.wav: 0:00.6 is beyond the end: the file ends at 0:00.5\n",
            1
        ),
        (["--at", "chapters", "--to", "{n}.wav"], "error: talk.wav: the file has no chapters\n", 1),
        (["--at", "cue", "--to", "{n}.wav"], "error: talk.wav: no CUE sheet beside the file or in it\n", 1),
        (
            ["--at", "0.2,0.1", "--to", "{n}.wav"],
            "error: --at 0.2,0.1: must be times after the start that increase\n", 2
        ),
        (["--at", "0", "--to", "{n}.wav"], "error: --at 0: must be times after the start that increase\n", 2),
        (["--at", "noon", "--to", "{n}.wav"], "error: --at noon: is not a place to cut\n", 2),
        (["--at", "every 0s", "--to", "{n}.wav"], "error: --at \"every 0s\": must be longer than nothing\n", 2),
        (["--at", "every 1/48000", "--to", "{n}.wav"], "error: talk.wav: more than 10,000 pieces\n", 1),
        (["--at", "0.1", "--to", "a.wav"], "error: --to a.wav: pieces 1 and 2 would both be a.wav\n", 2),
        (
            ["--at", "0.1", "--to", "{x}.wav"],
            "error: --to {x}.wav: is not a name for pieces: unknown field {x}; known: {stem} {n} {title}\n", 2
        ),
        (["--at", "0.1"], "error: --to is missing\n", 2),
        (["--to", "{n}.wav"], "error: --at is missing\n", 2),
        (["--at", "0.1", "--to", "{n}.xyz"], "error: 1.xyz: unknown extension\n", 2),
    ])
    func refusalsSayWhy(words: [String], message: String, status: Int32) throws {
        let run = try Sluice.run(["split", "talk.wav"] + words, in: material.folder)
        #expect(run.errorText.hasPrefix(message), "\(run.errorText)")
        #expect(run.status == .exited(status))
        #expect(try material.folder.names() == ["talk.wav"])
    }

    @Test func aPipeCannotBeSplit() throws {
        let run = try sluice("split", "-", "--at", "0.1", "--to", "{n}.wav")
        #expect(run.errorText.hasPrefix("error: standard input cannot be split: a pipe can be read only once\n"))
        try #require(mkfifo(material.path("pipe"), 0o600) == 0)
        let named = try sluice("split", "pipe", "--at", "0.1", "--to", "{n}.wav")
        #expect(named.errorText.hasPrefix("error: pipe cannot be split: a pipe can be read only once\n"))
        #expect(named.status == .exited(2))
    }
}
