import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice submit --join-folders`: one job for each folder that holds sound.
struct SubmitBookTests {
    let bench: LedgerBench

    init() throws { bench = try LedgerBench() }

    /// Writes noise with these tags, and returns it.
    @discardableResult
    private func file(_ name: String, seed: UInt64, _ tags: [String: String] = [:]) throws -> PCM {
        let path = bench.folder.path(name)
        let parent = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        let sound = Signal.noise(seed: seed, rate: 16_000, frames: 1_600, channels: 1).pcm(.s16)
        let words = tags.sorted { $0.key < $1.key }.flatMap { ["-metadata", "\($0.key)=\($0.value)"] }
        try FFmpeg.encode(sound, to: path, words)
        return sound
    }

    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: bench.folder.path(name)) }

    private func submit(_ more: String...) throws -> Run {
        try bench.run(["submit", "-r", "lib", "--join-folders", "--to", "books/{dir}.wav"] + more)
    }

    @Test func eachFolderBecomesOneOutputWithChapters() async throws {
        let sea = try [
            file("lib/Sea/CD 1/2 two.flac", seed: 1, ["album": "Sea", "title": "Two"]),
            file("lib/Sea/CD 1/10 ten.flac", seed: 2, ["album": "Sea"]),
            file("lib/Sea/CD 2/1 one.flac", seed: 3, ["album": "Sea"]),
        ]
        let land = try [file("lib/Ada/Land/a.flac", seed: 4), file("lib/Ada/Land/b.flac", seed: 5)]
        let worker = try bench.startWorker()
        let run = try submit("--wait").checked()
        #expect(run.outputText == "batch 1  2 jobs\nbatch 1  2 completed\n", "\(run.outputText)")
        let note = "note:  there are 3 doubts; --dry-run shows them all, and --strict makes them an error\n"
        #expect(run.errorText.hasPrefix(note), "\(run.errorText)")
        #expect(try samples("books/Sea.wav") == PCM.joined(sea))
        #expect(try samples("books/Ada/Land.wav") == PCM.joined(land))
        let book = try FFmpeg.probe(bench.folder.path("books/Sea.wav"))
        #expect(book.chapters.map { $0.tags["title"] } == ["Two", "10 ten", "1 one"])
        #expect(book.chapters.map(\.start) == [0, 0.1, 0.2])
        #expect(book.tags["album"] == "Sea" && book.tags["title"] == nil, "\(book.tags)")

        // Nothing is done twice. A change of any file makes the book again.
        #expect(try submit("--wait").checked().outputText == "batch 1  2 jobs\nnothing to submit: 2 unchanged\n")
        let changed = try file("lib/Ada/Land/b.flac", seed: 6, ["comment": "a longer file"])
        #expect(try submit("--wait").checked().outputText.hasPrefix("batch 2  1 job: 1 changed"))
        #expect(try samples("books/Ada/Land.wav") == PCM.joined([land[0], changed]))
        withExtendedLifetime(worker) {}
    }

    @Test func tagsDecideTheOrderIfAsked() async throws {
        try file("lib/Sea/a.flac", seed: 1, ["track": "3"])
        try file("lib/Sea/b.flac", seed: 2, ["track": "1"])
        let refused = try submit("--order", "tags", "--strict")
        #expect(refused.errorText.hasPrefix("error: there is 1 doubt; nothing was submitted\n"), "\(refused.errorText)")
        #expect(refused.errorText.contains("Sea: track 2 is missing") && refused.status == .exited(1))
        _ = try submit("--order", "tags").checked()
        let job = try #require(try await bench.ledger.jobs(ofBatch: 1).first)
        let recipe = try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
        let names = recipe.sources.map { $0.location.split(separator: "/").last.map(String.init) }
        #expect(names == ["b.flac", "a.flac"] && recipe.markSources)
        #expect(recipe.timeline?.tracks[0].pieces.count == 2)
    }

    @Test func aDryRunShowsTheBooks() async throws {
        try file("lib/Sea/1 one.flac", seed: 1, ["title": "The harbour"])
        try file("lib/Sea/3 two.flac", seed: 2)
        func lines(_ more: String...) throws -> [String] {
            let words = ["submit", "-r", "lib", "--join-folders", "--to", "out:{dir}.m4b", "--dry-run"] + more
            return try bench.run(words).checked().outputText.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            }
        }
        let plain = try lines()
        #expect(plain[0].hasPrefix("2 files, ") && plain[0].contains(" -> 1 job in queue default"), "\(plain)")
        let expected: [String] = [
            "out:Sea.m4b 2 files 2 chapters", "# CHAPTER FILE", "1 1 one 1 one.flac", "2 3 two 3 two.flac",
            "doubt: Sea: no file has the number 2",
        ]
        #expect(Array(plain.dropFirst().prefix(5)) == expected, "\(plain)")
        let probed = try lines("--probe")
        #expect(probed.contains("length 0.20 s of sound"), "\(probed)")
        #expect(probed.contains("out:Sea.m4b 0:00.2 2 files 2 chapters"), "\(probed)")
        #expect(probed.contains("1 The harbour 0:00 0:00.1 1 one.flac"), "\(probed)")
        let words = ["submit", "-r", "lib", "--join-folders", "--to", "out:{dir}.m4b", "--dry-run"]
        let record = try #require(try bench.records(words).first)
        let books = try #require(record["books"] as? [[String: Any]])
        #expect(books.map { $0["output"] as? String } == ["out:Sea.m4b"])
        let strict = try bench.run(words + ["--strict"])
        #expect(strict.status == .exited(1))
        #expect(strict.outputText.hasSuffix("the submission would be refused (--dry-run)\n"), "\(strict.outputText)")
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func packetsAreCopiedIfAsked() async throws {
        try file("lib/Sea/1.m4a", seed: 1)
        try file("lib/Sea/2.m4a", seed: 2)
        let words = ["submit", "-r", "lib", "--join-folders", "--copy-packets", "--to", "out:{dir}.m4b"]
        let shown = try bench.run(words + ["--dry-run", "--probe"]).checked().outputText
        #expect(shown.contains("\n    packets: copied, by the headers of the files\n"), "\(shown)")
        #expect(try !bench.run(words + ["--dry-run"]).checked().outputText.contains("packets:"))
        _ = try bench.run(words).checked()
        let job = try #require(try await bench.ledger.jobs(ofBatch: 1).first)
        let recipe = try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
        #expect(recipe.copyPackets && recipe.version == 4)
        let alone = try bench.run("submit", "lib/Sea/1.m4a", "--to", "out:{stem}.m4b", "--copy-packets")
        #expect(alone.status == .exited(2) && alone.errorText.contains("--copy-packets needs --join-folders"))
    }

    @Test func outputsInTheLibraryAreNoSources() throws {
        try file("lib/Sea/1.flac", seed: 1)
        try file("lib/Sea/2.flac", seed: 2)
        let worker = try bench.startWorker()
        let words = ["submit", "-r", "lib", "--join-folders", "--to", "lib/books/{dir}.wav", "--wait"]
        _ = try bench.run(words).checked()
        let again = try bench.run(words).checked()
        #expect(again.outputText == "batch 1  1 job\nnothing to submit: 1 unchanged\n", "\(again.outputText)")
        #expect(again.errorText.contains("1 file that this submission writes left out"), "\(again.errorText)")
        withExtendedLifetime(worker) {}
    }

    /// The submission itself knows no lengths.
    @Test func aProbeChangesNothingOfWhatTheDryRunForetells() throws {
        try file("lib/Sea/1.flac", seed: 1)
        try file("lib/Sea/2.flac", seed: 2)
        try Bytes.write(Array("0 Dawn\n0.05 Noon\n".utf8), to: bench.folder.path("lib/Sea/2.chapters.txt"))
        let run = try submit("--dry-run", "--probe", "--strict")
        #expect(run.status == .exited(1))
        #expect(run.outputText.contains("lists of chapters beside the files are not used"), "\(run.outputText)")
        #expect(!run.outputText.contains("Dawn"), "\(run.outputText)")
    }

    /// The files themselves are not opened, so a cover inside them is not known.
    @Test func whatIsBesideTheFilesBelongsToTheBook() async throws {
        try file("lib/Sea/CD 1/1.flac", seed: 1)
        try file("lib/Sea/CD 1/2.flac", seed: 2)
        let picture = bench.folder.path("lib/Sea/cover.png")
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "color=red:size=60x40", "-frames:v", "1", picture])
        try file("lib/Land/all.flac", seed: 3)
        try Bytes.write(Array("0 Dawn\n0.05 Noon\n".utf8), to: bench.folder.path("lib/Land/all.chapters.txt"))
        let worker = try bench.startWorker()
        let words = ["submit", "-r", "lib", "--join-folders", "--to", "books/{dir}.m4b", "--wait"]
        _ = try bench.run(words + ["--copy-files", "cover.png"]).checked()
        #expect(FileManager.default.fileExists(atPath: bench.folder.path("books/cover.png")))
        let book = try FFmpeg.probe(bench.folder.path("books/Sea.m4b"))
        #expect(book.streams.contains { $0.width == 60 && $0.height == 40 })
        let land = try FFmpeg.probe(bench.folder.path("books/Land.m4b"))
        #expect(land.chapters.map { $0.tags["title"] } == ["Dawn", "Noon"])
        // Of several files, the lengths must be known.
        try Bytes.write(Array("0 Dawn\n0.05 Noon\n".utf8), to: bench.folder.path("lib/Sea/CD 1/2.chapters.txt"))
        let strict = try bench.run(words + ["--strict"])
        #expect(strict.errorText.contains("the length of CD 1/1.flac is not known to the frame"), "\(strict.errorText)")
        let tagged = try bench.run(words + ["--order", "tags", "--on-conflict", "replace"]).checked()
        #expect(!tagged.errorText.contains("not known to the frame"), "\(tagged.errorText)")
        let job = try #require(try await bench.ledger.jobs(ofBatch: 2).first)
        let recipe = try Recipe(json: try #require(try await bench.ledger.story(of: job)).recipe)
        #expect(recipe.chapters.map(\.title) == ["1", "Dawn", "Noon"] && recipe.sources.last?.use == .cover)
        withExtendedLifetime(worker) {}
    }

    /// A book without one of its parts would count as done.
    @Test func partsThatAreLeftOutAreNoSecret() throws {
        try bench.files("lib/Sea/CD 1/1.wav", "other/1.wav")
        let (link, target) = (bench.folder.path("lib/Sea/CD 2"), bench.folder.path("other"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let linked = try submit("--strict")
        #expect(linked.status == .exited(1))
        #expect(linked.errorText.contains("Sea: CD 2 is a link to a folder, and is left out"), "\(linked.errorText)")
        try bench.files("lib/Sea/CD 1/2\tb.wav")
        let named = try submit()
        #expect(named.status == .exited(1), "\(named.errorText)")
        #expect(named.errorText.contains("error: 1 name cannot be used; nothing was submitted\n"), "\(named.errorText)")
    }

    @Test func whatCannotBeJoinedIsRefused() throws {
        try bench.files("lib/a.wav")
        for (words, error) in [
            (["--join-folders", "--until", "1"], "--until and --join-folders exclude each other"),
            (["--join-folders", "--gain", "-3dB"], "--gain and --join-folders exclude each other"),
            (["--join-folders", "--order", "x.m3u"], "--order: a list orders the files of one folder"),
            (["--order", "tags"], "--order needs --join-folders"), (["--strict"], "--strict needs --join-folders"),
        ] {
            let run = try bench.run(["submit", "-r", "lib", "--to", "out/{dir}.wav"] + words)
            #expect(run.status == .exited(2) && run.errorText.hasPrefix("error: \(error)"), "\(run.errorText)")
        }
        for number in 1...250 { try bench.files("lib/\(number).wav") }
        let many = try submit()
        let error = "error: lib has 251 files; a job joins up to 250; nothing was submitted\n"
        #expect(many.status == .exited(1) && many.errorText.hasPrefix(error), "\(many.errorText)")
    }
}
