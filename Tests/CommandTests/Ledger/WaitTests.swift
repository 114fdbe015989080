import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// `sluice wait` exits when its jobs have ended, and its exit code says how they ended.
struct WaitTests {
    @Test func aLongJobMovesTheWhole() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let worker = try await bench.worker()
        let fence = try await bench.claim(for: worker)[0]
        let beat = RunningJob(fence, frames: 400, totalFrames: 1_000, slot: 1)
        _ = try await bench.heartbeat.beat(worker, [beat], status: WorkerStatus())
        let run = try bench.run("wait", "\(job)", "--progress", "bar", "--timeout", "2s")
        #expect(run.status == .exited(8) && run.errorText.contains(" 40%   0 done  1 running"), "\(run.errorText)")
    }

    /// A worker claims jobs ahead of the rooms that will convert them.
    @Test func claimedJobsAreNotSaidToRun() async throws {
        let bench = try LedgerBench()
        _ = try await bench.submit(3)
        let worker = try await bench.worker()
        let fences = try await bench.claim(3, for: worker)
        _ = try await bench.heartbeat.beat(worker, [RunningJob(fences[0], slot: 1)], status: WorkerStatus())
        let waited = try bench.run("wait", "--batch", "1", "--progress", "bar", "--timeout", "1s")
        #expect(waited.errorText.contains("0 done  1 running  2 claimed"), "\(waited.errorText)")
        #expect(try bench.output("status").contains("   running 1   claimed 2   "))
        let states = try bench.output("jobs").split(separator: "\n").dropFirst().map { $0.split(separator: " ")[1] }
        #expect(states.sorted() == ["claimed", "claimed", "running"])
    }

    @Test func completedIsZero() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2, Submission(label: "two"))
        let fences = try await bench.claim(2, for: bench.worker())
        let running = try bench.start("wait", "--batch", "1", "--progress", "json")
        try running.waitForTalk("\"running\":2")
        try await bench.complete(fences[0])
        try running.waitForTalk("\"completed\":1")
        try await bench.complete(fences[1])
        try running.ends(with: .exited(0))
        #expect(running.outputText == "batch 1 \"two\"  2 completed\n")
        #expect(running.errorText.split(separator: "\n").last?.hasPrefix("{\"jobs\":{") == true)
        #expect(running.errorText.hasSuffix("\"state\":\"completed\"}\n"))
        let jobsToo = try bench.run("wait", "\(jobs[1])", "\(jobs[0])", "--batch", "1").checked()
        #expect(
            jobsToo.outputText == "batch 1 \"two\"  2 completed\njob \(jobs[1])  completed\njob \(jobs[0])  completed\n"
        )
    }

    @Test func someThatFailedIsThree() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[2]]))
        let batch = try bench.run("wait", "--batch", "1")
        #expect((batch.status, batch.outputText) == (.exited(3), "batch 1  1 completed, 1 failed, 1 cancelled\n"))
        #expect(batch.errorText == "1 failed: truncated 1; sluice errors --batch 1\n")
        #expect(try bench.run("wait", "\(jobs[0])").status == .exited(0))
        let failed = try bench.run("wait", "\(jobs[1])")
        #expect((failed.status, failed.outputText) == (.exited(3), "job \(jobs[1])  failed: truncated\n"))
        #expect(failed.errorText == "1 failed: truncated 1; sluice job \(jobs[1])\n")
        #expect(try bench.run("wait", "\(jobs[2])").status == .exited(3))
    }

    @Test func jobWhoseBatchIsNamedTooCountsOnce() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        let run = try bench.run(
            ["wait", "\(jobs[0])", "\(jobs[1])", "--batch", "1", "--progress", "json"]
                + ["--on-end", "echo $SLUICE_COMPLETED $SLUICE_FAILED"]
        )
        #expect(run.status == .exited(3))
        let jobLines = "job \(jobs[0])  completed\njob \(jobs[1])  failed: truncated\n"
        #expect(run.outputText == "batch 1  1 completed, 1 failed\n" + jobLines + "1 1\n")
        #expect(run.errorText.contains("\"completed\":1,"))
        #expect(run.errorText.hasSuffix("\n1 failed: truncated 1; sluice errors --batch 1\n"), "\(run.errorText)")
    }

    @Test func timeThatIsOverIsEight() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        try await bench.complete(bench.claim(for: bench.worker())[0])
        let run = try bench.run("wait", "\(jobs[0])", "\(jobs[1])", "--timeout", "0s")
        #expect(run.status == .exited(8))
        #expect(run.outputText == "job \(jobs[0])  completed\njob \(jobs[1])  waiting\n")
        #expect(run.errorText.hasSuffix("timed out: some jobs have not ended\n"))
    }

    @Test func whatIsNotThereIsFour() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        #expect(try bench.run("wait", "--batch", "9").status == .exited(4))
        let run = try bench.run("wait", "\(job)", "77")
        #expect((run.status, run.errorText) == (.exited(4), "error: no such job 77\n"))
        #expect(try bench.run("wait").status == .exited(2))
    }

    @Test func anyIsTheFirst() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let fences = try await bench.claim(2, for: bench.worker())
        let running = try bench.start("wait", "--any", "\(jobs[0])", "\(jobs[1])", "--progress", "plain", "--json")
        try running.waitForTalk("running=2\n")
        try await bench.complete(fences[1])
        try running.ends(with: .exited(0))
        let lines = running.outputText.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].contains("\"id\":\(jobs[1]),"))
        let ended = "completed=1\nskipped=0\nfailed=0\naccepted=0\ncancelled=0\nprogress=end\n"
        #expect(running.errorText.hasSuffix(ended))
    }

    @Test func theReasonWhyNothingRunsIsSaidAtOnceAndWhenItChanges() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        try await bench.ledger.setPaused(true, queue: "default")
        let running = try bench.start("wait", "--batch", "1")
        try running.waitForTalk(
            "note:  nothing runs; job \(job) waits: its queue is paused; an operator can resume it: sluice queues resume default\n"
        )
        try await bench.ledger.setPaused(false, queue: "default")
        try running.waitForTalk("note:  nothing runs: no workers are running; start one with \"sluice worker\"\n")
        try await bench.complete(bench.claim(for: bench.worker())[0])
        try running.ends(with: .exited(0))
        // On a slow machine the job may also wait for its turn, until the worker claims it.
        let notes = running.errorText.split(separator: "\n").filter {
            $0.hasPrefix("note:") && !$0.contains("its turn")
        }
        #expect(notes.count == 2, "\(running.errorText)")
    }

    @Test func jobThatIsTriedAgainHasNotEnded() async throws {
        let bench = try LedgerBench()
        let job = try await bench.submit(1)[0]
        let worker = try await bench.worker()
        try await bench.fail(bench.claim(for: worker)[0], .transient, code: "io_source", message: "gone")
        let running = try bench.start("wait", "\(job)", "--progress", "plain")
        try running.waitForTalk("delayed=1\n")
        try await bench.ledger.apply(.retry, to: JobFilter(ids: [job]))
        try await bench.complete(bench.claim(for: worker)[0])
        try running.ends(with: .exited(0))
    }

    @Test func outageIsWaitedThrough() async throws {
        let bench = try LedgerBench.alone()
        let jobs = try await bench.submit(2)
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[1]]))
        let waiting = try bench.start("wait", "\(jobs[0])", "--progress", "plain")
        let following = try bench.start("jobs", "--follow", "--batch", "1", "-q", "--ended-since", "1h")
        try waiting.waitForTalk("waiting=1\n")
        try following.waitForOutput("\(jobs[1])\n")
        try bench.server.stop()
        for running in [waiting, following] { try running.waitForTalk("note:  the ledger is unreachable (ledger_") }
        try bench.server.start()
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: jobs))
        try waiting.ends(with: .exited(3))
        #expect(waiting.outputText == "job \(jobs[0])  cancelled\n")
        #expect(waiting.errorText.contains("note:  the ledger is reachable again\n"))
        try following.ends(with: .exited(0))
        #expect(following.outputText == "\(jobs[1])\n\(jobs[0])\n")
    }

    @Test func ledgerThatNeverAnsweredIsUnreachable() throws {
        let folder = try TemporaryFolder.create()
        let address = ["SLUICE_DATABASE_URL": "postgresql:///x?host=/nowhere"]
        for words in [["wait", "1"], ["jobs", "--follow"]] {
            #expect(try Sluice.run(words, in: folder, environment: address).status == .exited(5))
        }
    }

    @Test(arguments: [(SIGINT, SIGINT), (SIGTERM, SIGTERM)])
    func signalsEndTheWaitByTheSignal(sent: Int32, seen: Int32) async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        let running = try bench.start("wait", "--batch", "1", "--progress", "plain")
        try running.waitForTalk("waiting=1\n")
        running.signal(sent)
        try running.ends(with: .signalled(seen))
        #expect(running.outputText.isEmpty)
        #expect(running.errorText.hasSuffix("the jobs continue; \"sluice wait --batch 1\" waits for them again\n"))
        #expect(try await bench.state(1) == .waiting)
    }
}
