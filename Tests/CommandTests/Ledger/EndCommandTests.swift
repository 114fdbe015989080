import Foundation
import Ledger
import TestSupport
import Testing

/// `--on-end` of `wait` and `submit --wait`.
struct EndCommandTests {
    private static let show =
        "echo \"$SLUICE_BATCH/$SLUICE_JOB: $SLUICE_COMPLETED $SLUICE_SKIPPED $SLUICE_FAILED $SLUICE_ACCEPTED $SLUICE_CANCELLED"
        + " $SLUICE_EXIT_CODE\""

    @Test func theCommandHasTheFacts() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        try await bench.ledger.apply(.cancel, to: JobFilter(ids: [jobs[2]]))
        let batch = try bench.run("wait", "--batch", "1", "--on-end", Self.show)
        #expect(batch.status == .exited(3))
        #expect(batch.outputText == "batch 1  1 completed, 1 failed, 1 cancelled\n1/: 1 0 1 0 1 3\n")
        let job = try bench.run("wait", "\(jobs[0])", "--on-end", Self.show)
        #expect((job.status, job.outputText) == (.exited(0), "job \(jobs[0])  completed\n/\(jobs[0]): 1 0 0 0 0 0\n"))
    }

    @Test func itsExitCodeIsReported() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        let failed = try bench.run("wait", "\(jobs[0])", "--on-end", "exit 7")
        #expect(failed.status == .exited(1))
        #expect(failed.errorText.contains("the command of --on-end ended with exit code 7"))
        // The failure of the jobs is the more important one.
        #expect(try bench.run("wait", "\(jobs[1])", "--on-end", "exit 7").status == .exited(3))
        let killed = try bench.run("wait", "\(jobs[0])", "--on-end", "kill -9 $$")
        #expect(killed.errorText.contains("the command of --on-end was ended by signal 9"))
        #expect(try bench.run("wait", "\(jobs[0])", "--on-end", "no-such-program").status == .exited(1))
    }

    @Test func itRunsOnlyAtTheEnd() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(1)
        let late = try bench.run("wait", "\(jobs[0])", "--timeout", "0s", "--on-end", "echo ended")
        #expect(late.status == .exited(8) && !late.outputText.contains("ended\n"))
        let alone = try bench.run("submit", "in:a.wav", "--to", "out:a.flac", "--on-end", "true")
        #expect(alone.status == .exited(2) && alone.errorText.contains("--on-end needs --wait"))
        let unbounded = try bench.run("submit", "in:a.wav", "--to", "out:a.flac", "--timeout", "1s")
        #expect(unbounded.status == .exited(2) && unbounded.errorText.contains("--timeout needs --wait"))
        let short = try bench.run("submit", "in:a.wav", "--to", "out:a.flac", "--wait", "--timeout", "0s")
        #expect(short.status == .exited(8), "\(short.errorText)")
    }

    @Test func submittingWaitsForIt() async throws {
        let bench = try LedgerBench()
        let running = try bench.start(
            "submit",
            "in:a.wav",
            "--to",
            "out:a.flac",
            "--wait",
            "--progress",
            "json",
            "--on-end",
            Self.show
        )
        try running.waitForTalk("\"waiting\":1")
        try await bench.complete(bench.claim(for: bench.worker(abilities: ["codec:flac", "root:in", "root:out"]))[0])
        try running.ends(with: .exited(0))
        #expect(running.outputText.hasSuffix("1/: 1 0 0 0 0 0\n"))
    }
}
