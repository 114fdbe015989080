import API
import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A repeated submission recognises earlier work. The files are real, and so is the worker where a test converts them.
struct SubmitAgainTests {
    let bench: LedgerBench
    private static let words = ["submit", "-r", "in", "--to", "out/{dir}/{stem}.flac"]

    init() throws {
        bench = try LedgerBench()
        try bench.sound("in/a.wav", "in/b.wav", "in/sub/c.wav")
    }

    private func submit(_ more: String...) throws -> Run { try bench.run(Self.words + more) }

    private func output(_ name: String) -> String { bench.folder.path("out/" + name) }

    @Test func whatIsMissingIsMadeAgain() throws {
        let worker = try bench.startWorker()
        #expect(try submit("--wait").checked().outputText == "batch 1  3 jobs\nbatch 1  3 completed\n")
        let before = try Bytes.read(output("b.flac"))
        try FileManager.default.removeItem(atPath: output("b.flac"))
        let again = try submit("--wait").checked()
        #expect(
            again.outputText == """
                batch 2  1 job: 1 missing again
                not submitted: 2 unchanged
                batch 2  1 completed

                """
        )
        #expect(try Bytes.read(output("b.flac")) == before)
        let done = try submit("--wait").checked()
        #expect(done.outputText == "nothing to submit: 3 unchanged\n")
        withExtendedLifetime(worker) {}
    }

    @Test func aNewFileInAFolderIsSubmittedAlone() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        try bench.sound("in/sub/d.wav")
        #expect(
            try submit("--dry-run").checked().outputText.contains(
                "  unchanged   3 done before, outputs exist\n"
            )
        )
        let run = try submit("--wait").checked()
        #expect(run.outputText == "batch 2  1 job: 1 new\nnot submitted: 3 unchanged\nbatch 2  1 completed\n")
        #expect(try Bytes.size(of: output("sub/d.flac")) > 0)
        withExtendedLifetime(worker) {}
    }

    @Test func aSourceThatChangedIsConvertedAgain() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        let before = try Bytes.read(output("a.flac"))
        try bench.sound("in/a.wav", hertz: 1_000)
        let run = try submit("--wait").checked()
        #expect(run.outputText == "batch 2  1 job: 1 changed\nnot submitted: 2 unchanged\nbatch 2  1 completed\n")
        #expect(try Bytes.read(output("a.flac")) != before)
        // A source with only a new modification time counts as changed too: the command does not read its content.
        try bench.touch("in/b.wav")
        #expect(try submit("--wait").checked().outputText.hasPrefix("batch 3  1 job: 1 changed\n"))
        #expect(try submit("--wait").checked().outputText == "nothing to submit: 3 unchanged\n")
        withExtendedLifetime(worker) {}
    }

    /// A nightly run goes on, and says so.
    @Test func anOutputThatIsNotOursAnyMoreIsLeftAloneAndTheRestIsSubmitted() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        for name in ["in/a.wav", "in/b.wav"] { try bench.sound(name, hertz: 1_000) }
        try Bytes.write(Array("edited by hand".utf8), to: output("a.flac"))
        #expect(try submit("--dry-run").checked().outputText.contains("to be left alone; --on-altered replace makes"))
        let run = try submit("--wait").checked()
        #expect(run.outputText.hasPrefix("batch 2  1 job: 1 changed\nnot submitted: 1 unchanged, 1 altered\n"))
        #expect(run.errorText.contains("1 output has changed since it was written and was left alone: "))
        #expect(run.errorText.contains("out/a.flac; --on-altered replace makes them again\n"))
        #expect(try Bytes.read(output("a.flac")) == Array("edited by hand".utf8))
        let failed = try submit("--on-altered", "fail")
        #expect(failed.status == .exited(1))
        #expect(failed.errorText.hasPrefix("error: 1 output has changed since it was written; nothing was submitted\n"))
        #expect(failed.errorText.contains("hint:  --on-altered skip"))
        #expect(try submit("--wait", "--on-conflict", "missing").checked().outputText.contains("1 skipped"))
        let replaced = try submit("--wait", "--on-altered", "replace").checked()
        #expect(replaced.outputText.contains("batch 3  1 completed\n"))
        #expect(try Bytes.read(output("a.flac")) != Array("edited by hand".utf8))
        withExtendedLifetime(worker) {}
    }

    @Test func checkingComparesDigests() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        let size = try Bytes.size(of: output("a.flac"))
        try Bytes.overwrite(output("a.flac"), at: size / 2, with: [0x55, 0xAA, 0x55])
        #expect(try submit().checked().outputText == "batch 1  3 jobs\nnothing to submit: 3 unchanged\n")
        let run = try submit("--check").checked()
        #expect(run.outputText.hasSuffix("nothing to submit: 2 unchanged, 1 altered\n"))
        let repaired = try submit("--check", "--on-conflict", "replace", "--wait").checked()
        #expect(repaired.outputText == "batch 2  1 job: 1 new\nnot submitted: 2 unchanged\nbatch 2  1 completed\n")
        #expect(try submit("--check").checked().outputText == "nothing to submit: 3 unchanged\n")
        withExtendedLifetime(worker) {}
    }

    // MARK: - Failed, waiting and skipped jobs

    @Test func whatFailedIsNamedAndNotTriedAgainUntilItsSourceChanges() throws {
        try Bytes.write(Array("no sound".utf8), to: bench.folder.path("in/b.wav"))
        let worker = try bench.startWorker()
        #expect(try submit("--wait").status == .exited(3))
        let run = try submit("--wait")
        #expect(run.status == .exited(3))
        #expect(run.outputText == "batch 1  3 jobs\nnothing to submit: 2 unchanged, 1 failed before\n")
        #expect(run.errorText.contains("in/b.wav; retry with \"sluice retry --batch 1\"\n"))
        try bench.sound("in/b.wav")
        let mended = try submit("--wait").checked()
        #expect(mended.outputText == "batch 2  1 job: 1 changed\nnot submitted: 2 unchanged\nbatch 2  1 completed\n")
        withExtendedLifetime(worker) {}
    }

    /// Sources that are known to be bad keep no nightly run red.
    @Test func whatFailedAndWasAcceptedIsLeftOutWithoutAWarningUntilItsSourceChanges() throws {
        try Bytes.write(Array("no sound".utf8), to: bench.folder.path("in/b.wav"))
        let worker = try bench.startWorker()
        #expect(try submit("--wait").status == .exited(3))
        #expect(try submit("--wait").status == .exited(3))
        #expect(try bench.output("accept", "--batch", "last", "--yes") == "1 failure accepted\n")
        let left = "2 unchanged, 1 failed before and accepted\n"
        let night = try submit("--wait").checked()
        #expect(night.outputText.hasSuffix("nothing to submit: \(left)"))
        #expect(!night.errorText.contains("failed"), "\(night.errorText)")
        try bench.sound("in/d.wav")
        let next = try submit("--wait").checked()
        #expect(next.outputText.hasPrefix("batch 2  1 job: 1 new\nnot submitted: \(left)"))
        try bench.sound("in/b.wav")
        #expect(try submit("--wait").checked().outputText.hasPrefix("batch 3  1 job: 1 changed\n"))
        withExtendedLifetime(worker) {}
    }

    @Test func batchesTellHowManySourcesWereLeftOut() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        #expect(try !bench.output("batches").contains("SKIPPED"))
        try bench.sound("in/d.wav")
        try bench.sound("in/a.wav", hertz: 1_000)
        try Bytes.write(Array("edited by hand".utf8), to: output("a.flac"))
        // Two are unchanged, and one output was edited.
        _ = try submit("--wait").checked()
        let lines = try bench.output("batches").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines[0] == ["ID", "NAME", "QUEUE", "JOBS", "DONE", "SKIPPED", "FAILED", "OPEN", "SUBMITTED"])
        #expect(lines[1].prefix(6) == ["2", "default", "1", "100%", "3", "0"])
        #expect(try bench.records("batches").map { $0["sourcesSkipped"] as? Int } == [3, 0])
        // A repetition changes nothing.
        _ = try submit("--wait").checked()
        #expect(try bench.records("batches").map { $0["sourcesSkipped"] as? Int } == [3, 0])
        withExtendedLifetime(worker) {}
    }

    @Test func anOutputIsReplacedAlsoAfterATryThatFailed() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        try Bytes.write(Array("no sound".utf8), to: bench.folder.path("in/a.wav"))
        #expect(try submit("--wait").status == .exited(3))
        let before = try Bytes.read(output("a.flac"))
        try bench.sound("in/a.wav", hertz: 1_000)
        #expect(try submit("--wait").checked().outputText.hasPrefix("batch 3  1 job: 1 changed\n"))
        #expect(try Bytes.read(output("a.flac")) != before)
        withExtendedLifetime(worker) {}
    }

    @Test func whatWaitsIsNotSubmittedTwice() async throws {
        _ = try submit("-q").checked()
        try bench.sound("in/d.wav")
        let run = try submit().checked()
        #expect(run.outputText == "batch 2  1 job: 1 new\nnot submitted: 3 already waiting or running\n")
        let waiting = try bench.start(
            Self.words[0],
            Self.words[1],
            Self.words[2],
            Self.words[3],
            Self.words[4],
            "--wait"
        )
        try waiting.waitForOutput("nothing to submit: 4 already waiting or running\n")
        let worker = try bench.startWorker()
        try waiting.ends(with: .exited(0))
        #expect(waiting.outputText.hasSuffix("batch 1  3 completed\nbatch 2  1 completed\n"))
        #expect(try await bench.ledger.batches().map(\.jobs.total) == [1, 3])
        withExtendedLifetime(worker) {}
    }

    @Test func whatIsSkippedIsCountedAsSkipped() async throws {
        try bench.files("out/a.flac")
        let worker = try bench.startWorker()
        let run = try submit("--on-conflict", "skip", "--wait").checked()
        #expect(run.outputText == "batch 1  3 jobs\nbatch 1  2 completed, 1 skipped\n")
        let again = try submit("--on-conflict", "skip", "--wait", "--json").checked()
        #expect(again.outputText.contains(#""skipped":1,"unchanged":2"#), "\(again.outputText)")
        #expect(try bench.output("batches").contains("SKIPPED"))
        #expect(try bench.output("queues").contains("SKIPPED"))
        #expect(try bench.output("status").contains("2 completed, 1 skipped, 0 failed"))
        #expect(try bench.output("jobs").contains("skipped"))
        #expect(try bench.records("jobs", "--state", "skipped").count == 1)
        #expect(try await bench.ledger.batches().map(\.jobs.skipped) == [1])
        #expect(try Bytes.size(of: output("a.flac")) == 0)
        withExtendedLifetime(worker) {}
    }

    @Test func onlyWhatHasNoDestinationOrIsNewer() throws {
        try bench.files("out/a.flac", "out/b.flac")
        let past = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1_000_000)]
        try FileManager.default.setAttributes(past, ofItemAtPath: output("a.flac"))
        let future = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: 86_400)]
        try FileManager.default.setAttributes(future, ofItemAtPath: output("b.flac"))
        let plan = try submit("--on-conflict", "newer", "--dry-run").checked()
        #expect(plan.outputText.contains("->  2 jobs in queue default"))
        let worker = try bench.startWorker()
        let missing = try submit("--on-conflict", "missing", "--wait").checked()
        #expect(missing.outputText == "batch 1  1 job: 1 new\nnot submitted: 2 skipped\nbatch 1  1 completed\n")
        let newer = try submit("--on-conflict", "newer", "--wait").checked()
        #expect(
            newer.outputText == "batch 2  1 job: 1 new\nnot submitted: 1 unchanged, 1 skipped\nbatch 2  1 completed\n"
        )
        #expect(try Bytes.size(of: output("a.flac")) > 0)
        #expect(try Bytes.size(of: output("b.flac")) == 0)
        withExtendedLifetime(worker) {}
    }

    /// A folder is found even if its files have names with letters of more than one byte.
    @Test func destinationsWithLettersOfOtherAlphabetsAreFound() throws {
        try bench.files("in/m\u{FC}ller.wav", "in/\u{301}x.wav", "out/m\u{FC}ller.flac", "out/\u{301}x.flac")
        let plan = try submit("--on-conflict", "missing", "--dry-run").checked()
        #expect(plan.outputText.contains("->  3 jobs in queue default"), "\(plan.outputText)")
        // For sixteen destinations and more, the command reads the folder.
        for number in 0..<20 { try bench.files("in/\u{E4}\(number).wav", "out/\u{E4}\(number).flac") }
        let more = try submit("--on-conflict", "missing", "--dry-run").checked()
        #expect(more.outputText.contains("->  3 jobs in queue default"), "\(more.outputText)")
    }

    // MARK: - Keys, roots and concurrency

    @Test func aKeyAddsNothingTwiceAndSaysWhatIsMissing() throws {
        let worker = try bench.startWorker()
        _ = try submit("--key", "night", "--wait").checked()
        try FileManager.default.removeItem(atPath: output("a.flac"))
        let run = try submit("--key", "night", "--wait")
        #expect(run.status == .exited(3))
        #expect(run.errorText.contains("of the outputs, 1 is missing; submit without --key, or with another key"))
        #expect(
            try submit("--key", "morning", "--wait").checked().outputText.hasPrefix("batch 2  1 job: 1 missing again\n")
        )
        withExtendedLifetime(worker) {}
    }

    @Test func outputsOfRootsThatAreElsewhereAreNotGuessed() async throws {
        let words = ["submit", "-r", "in", "--root", "in=in", "--to", "far:{stem}.flac"]
        _ = try bench.run(words).checked()
        let id = try await bench.worker(abilities: ["root:in", "root:far", "codec:flac"])
        for fence in try await bench.claim(3, for: id) { try await bench.complete(fence) }
        let run = try bench.run(words + ["--wait"]).checked()
        #expect(run.outputText == "batch 1  3 jobs\nnothing to submit: 3 done before, not checked\n")
        #expect(run.errorText == "note:  3 outputs are under roots that are not on this machine and not checked\n")
        try bench.touch("in/a.wav")
        #expect(try bench.run(words).checked().outputText.contains("3 done before, not checked"))
    }

    @Test func ofEqualSubmissionsAtOnceOneIsAdded() async throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        for name in ["a.flac", "b.flac"] { try FileManager.default.removeItem(atPath: output(name)) }
        worker.signal(SIGTERM)
        try worker.ends(with: .exited(0))
        let (run, folder, environment) = (Self.words, bench.folder, bench.environment)
        let runs = try (0..<4).map { _ in try RunningSluice(run, in: folder, environment: environment) }
        for run in runs { try run.ends(with: .exited(0)) }
        #expect(try await bench.ledger.batches().map(\.jobs.total) == [2, 3])
    }

    @Test func whatRetentionHasForgottenIsAConflict() throws {
        let worker = try bench.startWorker()
        _ = try submit("--wait").checked()
        worker.signal(SIGTERM)
        try worker.ends(with: .exited(0))
        try bench.forgetJobs()
        #expect(try submit().status == .exited(1))
        #expect(try submit("--on-conflict", "missing").checked().outputText == "nothing to submit: 3 skipped\n")
    }
}
