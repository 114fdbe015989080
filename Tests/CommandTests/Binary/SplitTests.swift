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
            #expect(tags["track"] == "\(index + 1)/10" && tags["title"] == "A talk", "\(tags)")
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

    @Test func piecesBeforeAFailureStay() throws {
        try material.addDamaged()
        let run = try sluice("split", "damaged.flac", "--at", "0.1,0.2", "--to", "{n}.wav")
        #expect(run.status == (try sluice("convert", "damaged.flac", "all.wav")).status && !run.succeeded)
        #expect(run.errorText.contains("2 of 3 pieces were written\n"), "\(run.errorText)")
        #expect(try material.folder.names() == ["1.wav", "2.wav", "damaged.flac", "talk.wav"])
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 48_000).pcm(.s16)
        #expect(try samples("2.wav") == noise.cut(4_800..<9_600))
    }

    @Test(arguments: [
        (["--at", "0.6", "--to", "{n}.wav"], "error: talk.wav: --at 0:00.6: the file ends at 0:00.5\n", 1),
        (["--at", "chapters", "--to", "{n}.wav"], "error: talk.wav: the file has no chapters\n", 1),
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
