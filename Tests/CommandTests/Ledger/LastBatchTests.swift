import Ledger
import TestSupport
import Testing

/// `last` where ids of jobs stand: the last batch that the user submitted, as in `--batch last`.
struct LastBatchTests {
    @Test func lastIsTheUsersLastBatch() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("wait", "last").status == .exited(4))
        try await bench.submit(2)
        let jobs = try await bench.submit(3)
        #expect(try bench.output("job", "last").hasPrefix("job \(jobs[2])   waiting   batch 2"))
        #expect(try bench.run("prioritize", "7", "last", "--yes").checked().outputText.contains("3 jobs"))
        #expect(try bench.output("jobs", "--batch", "1", "--json").contains(#""priority":0"#))
        #expect(try bench.run("cancel", "last", "--yes").checked().outputText.contains("3 jobs"))
        let waited = try bench.run("wait", "last")
        #expect(waited.status == .exited(3) && waited.outputText.contains("batch 2"), "\(waited.outputText)")
        #expect(try bench.run("retry", "last", "--state", "cancelled", "--yes").checked().outputText.contains("3 jobs"))
        #expect(try bench.run("retry", "last", "--batch", "1").status == .exited(2))
        #expect(try bench.run("job", "last", "1").status == .exited(2), "it is no id")
    }
}
