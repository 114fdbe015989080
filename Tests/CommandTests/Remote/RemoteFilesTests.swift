import Foundation
import Ledger
import TestSupport
import Testing

/// Commands over HTTP that send files, bring outputs back, export and check.
struct RemoteFilesTests {
    private let bench: LedgerBench
    private let remote: RemoteBench
    private let url: String
    private let roots: [String]

    init() throws {
        bench = try LedgerBench()
        remote = RemoteBench(bench)
        for name in ["in", "out", "here"] {
            try FileManager.default.createDirectory(atPath: bench.folder.path(name), withIntermediateDirectories: true)
        }
        try bench.sound("here/a.wav", "here/more/b.wav")
        roots = ["--root", "in=\(bench.folder.path("in"))", "--root", "out=\(bench.folder.path("out"))"]
        try remote.start(roots + ["--open-role", "submitter", "--uploads", "in", "--downloads", "out"], at: "http")
        url = "unix:\(bench.folder.path)/http"
    }

    private func startWorker() throws -> RunningSluice {
        let words = ["worker", "--slots", "2", "--name", "pump"] + roots
        let worker = try RunningSluice(words, in: bench.folder, environment: bench.environment)
        try worker.waitForTalk("\"event\":\"started\"")
        return worker
    }

    private func submit(_ words: String...) throws -> Run {
        try remote.run(["submit", "-r", "here", "--to", "out:{dir}/{stem}.flac"] + words, at: url)
    }

    private func names(_ folder: String) throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: bench.folder.path(folder))
        return paths.filter { $0.hasSuffix(".wav") || $0.hasSuffix(".flac") }.sorted()
    }

    @Test func filesAreSentAndOutputsComeBack() async throws {
        let worker = try startWorker()
        let run = try submit("--wait", "--fetch", "\(bench.folder.path("results"))").checked()
        #expect(run.errorText.contains("2 files, ") && run.errorText.contains("sent to in:uploads/\n"))
        #expect(
            try names("in").map { $0.split(separator: "/").dropFirst(3).joined(separator: "/") }.sorted()
                == ["a.wav", "b.wav"]
        )
        #expect(try names("results") == ["a.flac", "more/b.flac"])
        for name in try names("results") {
            #expect(
                try Bytes.read(bench.folder.path("results/\(name)")) == Bytes.read(bench.folder.path("out/\(name)"))
            )
        }
        let again = try submit("--wait", "--fetch", "\(bench.folder.path("results"))").checked()
        #expect(again.errorText.contains("2 of which were there already"))
        withExtendedLifetime(worker) {}
    }

    @Test func aDryRunSendsNothing() async throws {
        let run = try submit("--dry-run").checked()
        #expect(
            run.outputText.contains("  uploads     2 files, 32.1 kB, to in:uploads/, except what is there already\n")
        )
        #expect(try names("in") == [])
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func aFileIsSentOnce() async throws {
        _ = try remote.run(["submit", "here/a.wav", "--to", "out:{stem}.flac"], at: url).checked()
        let run = try submit("--again").checked()
        #expect(run.errorText.contains("sent to in:uploads/, 1 of which was there already\n"))
        #expect(try names("in").count == 2)
    }

    /// The stamp of its job is that of the first file, and the places of all files follow from theirs.
    @Test func aBookIsMadeAgainIfItsSecondFileHasChanged() async throws {
        let worker = try startWorker()
        try bench.sound("here/more/c.wav", "else/more/b.wav", "else/more/c.wav")
        func submit(_ folder: String = "here/more") throws -> Run {
            let words = ["submit", "-r", folder, "--join-folders", "--to", "out:{dir}.wav", "--wait"]
            return try remote.run(words, at: url)
        }
        _ = try submit().checked()
        let before = try Bytes.read(bench.folder.path("out/more.wav"))
        let same = try submit().checked().outputText
        #expect(same.contains("nothing to submit: 1 done before, not checked\n"), "\(same)")
        let longer = Signal.noise(seed: 8, rate: 16_000, frames: 20_000, channels: 1).pcm(.s16)
        try WAVFile.write(longer, to: bench.folder.path("here/more/c.wav"))
        let run = try submit().checked().outputText
        #expect(run.contains("batch 2  1 job: 1 changed"), "\(run)")
        let after = try Bytes.read(bench.folder.path("out/more.wav"))
        #expect(after.count > before.count)
        #expect(try submit().checked().outputText.contains("1 done before, not checked"))
        // Files of the same names in another folder are no changed ones, and replace nothing.
        #expect(try !submit("else/more").succeeded)
        #expect(try Bytes.read(bench.folder.path("out/more.wav")) == after)
        withExtendedLifetime(worker) {}
    }

    @Test func anotherFileAtThePlaceIsNotReplaced() async throws {
        _ = try submit().checked()
        let place = try #require(try names("in").first)
        try Bytes.write([1], to: bench.folder.path("in/\(place)"))
        let run = try submit("--again")
        #expect(run.status == .exited(1) && run.errorText.contains("another file is at in:\(place)"))
        #expect(try await bench.ledger.batches().count == 1)
    }

    @Test func destinationsOnThisMachineAreRefused() throws {
        let run = try remote.run(["submit", "-r", "here", "--to", "there/{stem}.flac"], at: url)
        #expect(run.status == .exited(2) && run.errorText.contains("--wait --fetch DIR"))
        #expect(try names("in") == [])
    }

    @Test func whatNoWorkerCanReadIsRefusedWithoutUploads() async throws {
        let plain = try remote.serve("--open-role", "submitter", at: "plain")
        _ = try await bench.worker(abilities: ["root:in", "codec:flac"])
        let run = try remote.run(["submit", "here/a.wav", "--to", "in:{stem}.flac"], at: plain)
        #expect(run.status == .exited(1) && run.errorText.contains("no running worker has root local"))
        #expect(run.errorText.contains("--root NAME=PATH") && run.errorText.contains("the workers have in"))
        #expect(try await bench.ledger.batches().isEmpty)
        let fetch = try remote.run(["wait", "1", "--fetch", "results"], at: plain)
        #expect(fetch.status == .exited(1) && fetch.errorText.contains("--downloads ROOT"))
    }

    @Test func fetchingNeedsACoordinatorAndWaiting() throws {
        let direct = try bench.run("wait", "1", "--fetch", "results")
        #expect(direct.status == .exited(2) && direct.errorText.contains("needs a coordinator that serves outputs"))
        let run = try submit("--fetch", "results")
        #expect(run.status == .exited(2) && run.errorText.contains("--fetch needs --wait"))
        let upload = try bench.run("submit", "-r", "here", "--to", "out/{stem}.flac", "--upload-to", "in")
        #expect(upload.status == .exited(2) && upload.errorText.contains("--upload-to needs a coordinator"))
    }

    @Test func exportPrintsTheSame() async throws {
        let jobs = try await bench.submit(450, stem: "many")
        let worker = try await bench.worker(abilities: ["root:in", "root:out", "codec:mp3"])
        let fences = try await bench.claim(3, for: worker)
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        #expect(jobs.count == 450)
        for words in [[], ["--brief"], ["--outputs"], ["--format", "jsonl"]] {
            try remote.compare(["export", "--batch", "1"] + words, at: url)
        }
        try remote.compare(["export", "--batch", "2"], at: url)
    }

    @Test func checkComparesWhatIsOnOtherMachines() async throws {
        let worker = try startWorker()
        _ = try submit("--wait").checked()
        let fine = try remote.run(["check", "--all"], at: url).checked()
        #expect(fine.outputText.hasPrefix("2 outputs checked, ") && fine.outputText.hasSuffix(": 2 unchanged\n"))
        try Bytes.overwrite(bench.folder.path("out/a.flac"), at: 100, with: [1, 2, 3, 4, 5])
        try FileManager.default.removeItem(atPath: bench.folder.path("out/more/b.flac"))
        let bad = try remote.run(["check", "--all"], at: url)
        #expect(bad.status == .exited(3))
        #expect(
            bad.outputText.contains("digest      out:a.flac") && bad.outputText.contains("missing     out:more/b.flac")
        )
        let repair = try remote.run(["check", "--all", "--repair", "--yes"], at: url)
        #expect(repair.status == .exited(7) && repair.errorText.contains("--repair needs the database"))
        withExtendedLifetime(worker) {}
    }
}
