import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit --split-at`: jobs that cut their sources into pieces. The files are real, and so is the worker.
struct SubmitSplitTests {
    let bench: LedgerBench

    private static let rate = 16_000
    private static let sound = Signal.noise(seed: 31, rate: rate, frames: 40_000, channels: 1, amplitude: 0.5).pcm(.s16)

    init() throws {
        bench = try LedgerBench()
        try FileManager.default.createDirectory(atPath: bench.folder.path("in"), withIntermediateDirectories: true)
        try WAVFile.write(Self.sound, to: bench.folder.path("in/a.wav"))
    }

    private func submit(_ points: String, _ to: String = "out/{stem}-{n}.wav", _ more: String...) throws -> Run {
        try bench.run(["submit", "-r", "in", "--split-at", points, "--to", to] + more)
    }

    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: bench.folder.path(name)) }

    /// Expects pieces of `sound` that end at these frames.
    private func expectPieces(_ names: [String], _ ends: [Int]) throws {
        for (index, name) in names.enumerated() {
            let start = index == 0 ? 0 : ends[index - 1]
            #expect(try samples(name) == Self.sound.cut(start..<ends[index]), "\(name)")
        }
    }

    /// Writes `in/book.mka` with chapters that begin at these milliseconds.
    private func book(_ chapters: [(start: Int, title: String)], _ name: String = "in/book.mka") throws {
        var text = ";FFMETADATA1\ntitle=Book\n"
        for (index, chapter) in chapters.enumerated() {
            let end = index + 1 < chapters.count ? chapters[index + 1].start : max(2_500, chapter.start + 1)
            text += "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\(chapter.start)\nEND=\(end)\ntitle=\(chapter.title)\n"
        }
        let (list, path) = (bench.folder.path("chapters.txt"), bench.folder.path(name))
        try Bytes.write(Array(text.utf8), to: list)
        let words = ["-map_metadata", "1", "-map_chapters", "1", "-c:a", "flac", path]
        try FFmpeg.run(["-i", bench.folder.path("in/a.wav"), "-i", list] + words)
    }

    // MARK: - Pieces

    @Test func timesCutEachFile() async throws {
        try WAVFile.write(Self.sound.cut(0..<30_000), to: bench.folder.path("in/b.wav"))
        let worker = try bench.startWorker()
        let run = try submit("0.5,10001/16000", "out/{stem}-{n}.wav", "--wait", "--verify").checked()
        #expect(run.outputText == "batch 1  2 jobs\nbatch 1  2 completed\n", "\(run.outputText)")
        try expectPieces((1...3).map { "out/a-\($0).wav" }, [8_000, 10_001, 40_000])
        try expectPieces((1...3).map { "out/b-\($0).wav" }, [8_000, 10_001, 30_000])
        // Nothing is done twice, and what is missing is made again.
        let again = try submit("0.5,10001/16000", "out/{stem}-{n}.wav", "--wait", "--verify").checked().outputText
        #expect(again == "batch 1  2 jobs\nnothing to submit: 2 unchanged\n", "\(again)")
        try FileManager.default.removeItem(atPath: bench.folder.path("out/a-2.wav"))
        let mended = try submit("0.5,10001/16000", "out/{stem}-{n}.wav", "--wait", "--verify").checked().outputText
        #expect(mended.hasPrefix("batch 2  1 job: 1 missing again\n"), "\(mended)")
        try expectPieces((1...3).map { "out/a-\($0).wav" }, [8_000, 10_001, 40_000])
        // Every output is exported.
        let rows: [[String]] = try bench.output("export", "--batch", "1", "--outputs").split(separator: "\n")
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        try #require(rows.count == 7 && rows.allSatisfy { $0.count == rows[0].count })
        for (row, name) in zip(rows.dropFirst(), ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"]) {
            let path = bench.folder.path("out/\(name).wav")
            let sum = try Run.program("sha256sum", [path]).checked().outputText.prefix(64)
            let size = try Bytes.read(path).count
            #expect(row[7] == sum && row[6] == "\(size)", "\(row)")
            #expect(row[12].hasSuffix("/out/\(name).wav") && row.last == "3" && row[2] == "completed", "\(row)")
        }
        let numbers: [String] = rows.dropFirst().map { $0[0] }
        #expect(numbers == ["1", "1", "1", "2", "2", "2"])
        #expect(try bench.output("export", "--batch", "1").split(separator: "\n").count == 3)
        // Other cuts with the same names are other work.
        let other = try submit("0.5,0.75")
        #expect(other.errorText.contains("2 destinations already exist"), "\(other.errorText)")

        let story = try #require(try bench.records("job", "1").first)
        let recipe = try #require(story["recipe"] as? [String: Any])
        let outputs = try #require(recipe["outputs"] as? [[String: Any]])
        let location: String = try #require(outputs[0]["location"] as? String)
        #expect(location.hasSuffix("/out/a-1.wav"))
        #expect(outputs[1]["range"] as? [String: String] == ["from": "0:00.5", "to": "0:00.6250625"])
        #expect(outputs[2]["range"] as? [String: String] == ["from": "0:00.6250625"])
        #expect(outputs[2]["tags"] as? [String: String] == ["track": "3/3"])
        #expect((story["furtherOutputs"] as? [[String: Any]])?.count == 2)
        withExtendedLifetime(worker) {}
    }

    @Test func chaptersBecomeFilesWithTheirTitles() throws {
        try book([(300, "One/Two"), (1_000, "Three")])
        try FileManager.default.removeItem(atPath: bench.folder.path("in/a.wav"))
        let worker = try bench.startWorker()
        let words = ["--wait", "--strict-loss", "--tag", "artist=Ada"]
        let run = try bench.run(
            ["submit", "-r", "in", "--split-at", "chapters", "--to", "out/{dir}/{stem}/{n} {title}.wav"] + words
        )
        #expect(run.succeeded, "\(run.errorText)")
        try expectPieces(
            ["out/book/1 book.wav", "out/book/2 One-Two.wav", "out/book/3 Three.wav"],
            [4_800, 16_000, 40_000]
        )
        let tags = try FFmpeg.probe(bench.folder.path("out/book/2 One-Two.wav")).tags
        #expect(tags["title"] == "One/Two" && tags["artist"] == "Ada" && tags["track"] == "2/3", "\(tags)")
        withExtendedLifetime(worker) {}
    }

    /// `a.cue` is beside `a.wav`. The jobs state what it says.
    @Test func tracksOfSheetsBecomeFilesWithTheirTags() throws {
        let sheet = """
            TITLE "The record"
            FILE "x.wav" WAVE
              TRACK 01 AUDIO
                PERFORMER "Eve"
                TITLE "One"
                INDEX 01 00:00:00
              TRACK 02 AUDIO
                TITLE "Two"
                INDEX 01 00:01:15
            """
        try Bytes.write(Array(sheet.utf8), to: bench.folder.path("in/a.cue"))
        let worker = try bench.startWorker()
        let run = try submit("cue", "out/{n} {title}.wav", "--wait", "--tag", "artist={stem}").checked()
        #expect(run.outputText == "batch 1  1 job\nbatch 1  1 completed\n", "\(run.outputText)")
        try expectPieces(["out/1 One.wav", "out/2 Two.wav"], [19_200, 40_000])
        let tags = try FFmpeg.probe(bench.folder.path("out/2 Two.wav")).tags
        #expect(tags["title"] == "Two" && tags["album"] == "The record" && tags["track"] == "2/2", "\(tags)")
        #expect(tags["artist"] == "a", "--tag wins: \(tags)")
        withExtendedLifetime(worker) {}
    }

    /// A library of discs with sheets, and of single files.
    @Test func filesWithoutASheetStayWhole() async throws {
        let alone = try submit("cue")
        #expect(alone.status == .exited(1))
        #expect(alone.errorText.contains("/in/a.wav: no CUE sheet beside the file or in it\n"), "\(alone.errorText)")
        let index = ["00:00:00", "00:01:15"].enumerated().map { number, time in
            "  TRACK 0\(number + 1) AUDIO\n    INDEX 01 \(time)\n"
        }
        try Bytes.write(Array(("FILE \"a.wav\" WAVE\n" + index.joined()).utf8), to: bench.folder.path("in/a.cue"))
        let other = try Self.sound.cut(0..<9_000)
        try FFmpeg.encode(
            other,
            to: bench.folder.path("in/b.flac"),
            ["-metadata", "title=Eve", "-metadata", "track=7"]
        )
        let plan = try submit("cue", "out/{stem}-{n} {title}.wav", "--dry-run").checked()
        let line = "  pieces      2 of 1 file; 1 file without a CUE sheet stays whole\n"
        #expect(plan.outputText.contains(line), "\(plan.outputText)\(plan.errorText)")
        let json = try submit("cue", "out/{stem}-{n} {title}.wav", "--dry-run", "--json").checked().stdout
        let record = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(record["pieces"] as? Int == 2 && record["uncut"] as? Int == 1)
        let worker = try bench.startWorker()
        let run = try submit("cue", "out/{stem}-{n} {title}.wav", "--wait").checked()
        #expect(run.errorText.contains("1 file without a CUE sheet stays whole\n"), "\(run.errorText)")
        try expectPieces(["out/a-1 a.wav", "out/a-2 a.wav"], [19_200, 40_000])
        #expect(try samples("out/b-1 Eve.wav") == other)
        // It is no piece, so its number stays.
        #expect(try FFmpeg.probe(bench.folder.path("out/b-1 Eve.wav")).tags["track"] == "7")
        withExtendedLifetime(worker) {}
    }

    @Test func equalPiecesAndSilenceAreFoundHere() throws {
        let quiet = Signal.noise(seed: 4, rate: Self.rate, frames: 12_000, channels: 1, amplitude: 0.0005).pcm(.s16)
        let loud = try Self.sound.cut(0..<20_000)
        try WAVFile.write(try PCM.joined([loud, quiet, loud]), to: bench.folder.path("in/a.wav"))
        let whole = try samples("in/a.wav")
        let worker = try bench.startWorker()
        _ = try submit("silence", "songs/{stem}-{n}.wav", "--wait").checked()
        #expect(try samples("songs/a-1.wav") == whole.cut(0..<26_000))
        #expect(try samples("songs/a-2.wav") == whole.cut(26_000..<52_000))
        _ = try submit("every 0.3s", "parts/{n}.wav", "--wait").checked()
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path("parts")).sorted()
        #expect(names == (1...11).map { ($0 < 10 ? "0" : "") + "\($0).wav" })
        let parts = try names.map { try samples("parts/\($0)") }
        #expect(try PCM.joined(parts) == whole)
        // Without a header that counts its frames, MP3 is decoded to find its length.
        try FFmpeg.encode(Self.sound, to: bench.folder.path("in/b.mp3"), ["-write_xing", "0"])
        try FileManager.default.removeItem(atPath: bench.folder.path("in/a.wav"))
        let run = try submit("every 1s", "mp3/{n}.flac", "--wait")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path("mp3")).count == 3)
        withExtendedLifetime(worker) {}
    }

    @Test func aPieceThatIsThereIsAConflict() throws {
        try FileManager.default.createDirectory(atPath: bench.folder.path("out"), withIntermediateDirectories: true)
        try Bytes.write([1], to: bench.folder.path("out/a-2.wav"))
        let refused = try submit("0.5,1")
        #expect(refused.status == .exited(1))
        #expect(refused.errorText.contains("1 destination already exists"), "\(refused.errorText)")
        let worker = try bench.startWorker()
        _ = try submit("0.5,1", "out/{stem}-{n}.wav", "--on-conflict", "skip", "--wait").checked()
        #expect(try Bytes.read(bench.folder.path("out/a-2.wav")) == [1])
        #expect(try samples("out/a-3.wav") == Self.sound.cut(16_000..<40_000))
        _ = try submit("0.5,1", "out/{stem}-{n}.wav", "--on-conflict", "replace", "--again", "--wait").checked()
        try expectPieces((1...3).map { "out/a-\($0).wav" }, [8_000, 16_000, 40_000])
        withExtendedLifetime(worker) {}
    }

    @Test func aPlanTellsTheCuts() async throws {
        let text = try submit("every 0.4s", "out/{stem}-{n}.wav", "--dry-run").checked().outputText
        #expect(text.contains("  pieces      7\n"), "\(text)")
        #expect(text.contains("/out/a-1.wav, 0:00 to 0:00.4\n"), "\(text)")
        #expect(text.contains("/out/a-5.wav, 0:01.6 to 0:02\n              and 2 more\n"), "\(text)")
        let json = try submit("0.5", "out/{stem}-{n}.wav", "--dry-run", "--json").checked().stdout
        let record = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(record["pieces"] as? Int == 2)
        let pieces = try #require((record["first"] as? [String: Any])?["pieces"] as? [[String: Any]])
        #expect(pieces.map { $0["from"] as? String } == ["0:00", "0:00.5"])
        #expect(pieces.map { $0["to"] as? String } == ["0:00.5", nil])
        #expect(try await bench.ledger.batches().isEmpty)
    }

    /// Times need no look at the file; the worker then finds what is wrong.
    @Test func timesCutFilesThatAreElsewhere() async throws {
        let words = ["submit", "far:a.wav", "--to", "far:out/{stem}-{n}.wav", "--split-at"]
        _ = try bench.run(words + ["1:00,2:00"]).checked()
        let story = try #require(try await bench.ledger.story(of: 1))
        #expect(try Recipe(json: story.recipe).outputs.count == 3)
        let run = try bench.run(words + ["chapters"])
        #expect(run.errorText.contains("far:a.wav: is not on this machine"), "\(run.errorText)")
        #expect(run.errorText.contains("name its root with --root NAME=PATH"), "\(run.errorText)")
    }

    // MARK: - Refusals

    @Test func whatCannotBeCutIsRefusedByName() async throws {
        try Bytes.write(Array("no sound at all".utf8), to: bench.folder.path("in/text.mp3"))
        let chapters = try submit("chapters")
        #expect(chapters.errorText.hasPrefix("error: 2 files cannot be cut; nothing was submitted\n"))
        #expect(chapters.errorText.contains("/in/a.wav: the file has no chapters\n"), "\(chapters.errorText)")
        #expect(chapters.errorText.contains("/in/text.mp3: "), "\(chapters.errorText)")
        try FileManager.default.removeItem(atPath: bench.folder.path("in/text.mp3"))
        for (points, why) in [
            ("5", "is beyond the end: the file ends at 0:02.5"), ("silence", "no silence of at least 0:00.5"),
            ("every 0.01s", "250 pieces; a job makes up to 200"), ("every 0.0001s", "more than 10,000 pieces"),
        ] {
            let run = try submit(points)
            #expect(run.status == .exited(1) && run.errorText.contains(why), "\(run.errorText)")
        }
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func hostileChaptersAreBounded() async throws {
        try FileManager.default.createDirectory(atPath: bench.folder.path("big"), withIntermediateDirectories: true)
        try book((0..<100_000).map { ($0, "x") }, "big/many.mka")
        try book((0..<1_500).map { ($0, String(repeating: "long ", count: 60) + "\($0)") }, "big/long.mka")
        for name in ["many", "long"] {
            let run = try bench.run(
                "submit",
                "big/\(name).mka",
                "--split-at",
                "chapters",
                "--to",
                "out/{n}.wav"
            )
            #expect(run.status == .exited(1), "\(run.errorText)")
            #expect(run.errorText.contains("the file has too many chapters to list"), "\(run.errorText)")
            let split = try bench.run("split", "big/\(name).mka", "--at", "chapters", "--to", "{n}.wav")
            #expect(split.errorText.contains("the file has too many chapters to list"), "\(split.errorText)")
        }
        // Titles of strangers name files, and nothing else.
        try book([(0, "../../up"), (500, ".."), (1_000, "a\u{1B}[31m/b"), (1_500, "")], "big/odd.mka")
        let worker = try bench.startWorker()
        let words = ["submit", "big/odd.mka", "--split-at", "chapters", "--to", "odd/{n}_{title}.wav", "--wait"]
        let run = try bench.run(words)
        #expect(run.succeeded, "\(run.errorText)")
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path("odd")).sorted()
        #expect(names == ["1_..-..-up.wav", "2_odd.wav", "3_a-[31m-b.wav", "4_odd.wav"], "\(names)")
        withExtendedLifetime(worker) {}
    }

    @Test func mistakesAreUsageErrors() throws {
        try book([(0, "Same"), (1_000, "Same")])
        for (words, message) in [
            (["in/a.wav", "--split-at", "1", "--to", "out/{stem}.wav"], "two outputs of a job would be local:"),
            (["in/book.mka", "--split-at", "chapters", "--to", "out/{title}.wav"], "put {n}, the number of the piece"),
            (["in/a.wav", "--to", "out/{n}.wav"], "--to out/{n}.wav: {n} belongs to a piece of a source"),
            (["in/a.wav", "--to", "out/a.wav", "--also", "out/{title}.mp3"], "{title} belongs to a piece"),
            (["in/a.wav", "--split-at", "x", "--to", "out/{n}.wav"], "--split-at x: is not a place to cut"),
            (
                ["in/a.wav", "--split-at", "1", "--to", "out/{n}.wav", "--gain", "-3dB"],
                "--gain and --split-at exclude"
            ),
            (
                ["in/a.wav", "--split-at", "1", "--to", "o/{n}.wav", "--also", "o/b.mp3"],
                "--also and --split-at exclude"
            ),
            (["in/a.wav", "--split-at", "1", "--to", "o/{n}.wav", "--from", "1"], "--from and --split-at exclude"),
            (
                ["in/a.wav", "--split-at", "1", "--to", "o/{n}.wav", "--loudness", "podcast"],
                "--loudness and --split-at exclude"
            ),
            (
                ["in/a.wav", "--split-at", "1", "--to", "o/{n}.wav", "--on-damage", "skip"],
                "--on-damage skip and --split-at exclude"
            ),
            (
                ["in/a.wav", "--split-at", "1", "--to", "o/{n}.wav", "--codec", "copy"],
                "passthrough copies whole tracks"
            ),
        ] {
            let run = try bench.run(["submit"] + words)
            #expect(run.status == .exited(2) && run.errorText.contains(message), "\(run.errorText)")
        }
    }
}
