import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// `sluice export` writes every job of a batch, in the order of submission.
struct ExportTests {
    @Test func everyJobIsARowOfItsOwn() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(3)
        let fences = try await bench.claim(2, for: bench.worker())
        try await bench.complete(fences[0])
        try await bench.fail(fences[1])
        let rows: [[String]] = try bench.output("export", "--batch", "1").split(separator: "\n")
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        #expect(
            rows.count == 4 && rows[0] == ExportRow.columns(isBrief: false)
                && rows.allSatisfy { $0.count == rows[0].count }
        )
        func cell(_ row: Int, _ name: String) -> String {
            rows[row][ExportRow.columns(isBrief: false).firstIndex(of: name)!]
        }
        let ids: [String] = jobs.map { (job: Int64) -> String in String(job) }
        let listed: [String] = rows.dropFirst().map { $0[1] }
        #expect(listed == ids)
        let numbers: [String] = rows.dropFirst().map { $0[0] }
        #expect(numbers == ["1", "2", "3"])
        #expect(cell(1, "state") == "completed" && cell(1, "host") == "host-1" && cell(1, "worker") == "pump-1")
        #expect(cell(1, "frames") == "48000" && cell(1, "bytes") == "1234567" && cell(1, "sha256").count == 64)
        #expect(cell(1, "source") == "in:a/1.wav" && cell(1, "destination") == "out:a/1.mp3")
        #expect(Double(cell(1, "seconds")) != nil && cell(1, "started").hasSuffix("Z"))
        #expect(cell(2, "code") == "truncated" && cell(2, "class") == "permanent" && cell(2, "stage") == "decode")
        #expect(cell(3, "state") == "waiting" && cell(3, "started").isEmpty && cell(3, "attempts") == "0")
    }

    @Test func manyJobsKeepTheirOrder() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1_107)
        let jobs: [String] = (1...1_107).map { (job: Int) -> String in String(job) }
        for more in [[], ["--brief"]] {
            let text = try bench.run(["export", "--batch", "1"] + more).checked().outputText
            let rows: ArraySlice<Substring> = text.split(separator: "\n").dropFirst()
            let listed: [String] = rows.map { (row: Substring) -> String in String(row.split(separator: "\t")[1]) }
            #expect(listed == jobs)
        }
    }

    @Test func briefRowsAreTheBeginningsOfWholeOnes() async throws {
        let bench = try LedgerBench()
        try await bench.submit(3)
        try await bench.fail(bench.claim(for: bench.worker())[0])
        let whole = try bench.output("export", "--batch", "1").split(separator: "\n")
        let brief = try bench.output("export", "--batch", "1", "--brief").split(separator: "\n")
        try #require(whole.count == 4 && brief.count == 4)
        for (one, other) in zip(whole, brief) { #expect(one.hasPrefix(other + "\t")) }
    }

    @Test func linesOfJSONAreThoseOfJob() async throws {
        let bench = try LedgerBench()
        let jobs = try await bench.submit(2)
        let lines = try bench.output("export", "--batch", "1", "--format", "jsonl")
        #expect(try lines == bench.output("job", "\(jobs[0])", "\(jobs[1])", "--json"))
    }

    @Test func batchHasToBeSaidAndThere() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("export").status == .exited(2))
        let run = try bench.run("export", "--batch", "4")
        #expect(run.status == .exited(4) && run.stdout.isEmpty)
    }
}
