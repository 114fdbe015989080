import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// Batches are named by their number, by their label, or as the last one.
struct BatchNameTests {
    @Test func labelsAndLastNameBatchesInEveryCommand() async throws {
        let bench = try LedgerBench()
        try await bench.submit(2, Submission(label: "first talks"))
        let job = try await bench.submit(1, Submission(label: "second"))[0]
        #expect(try bench.output("batches", "first talks", "-q") == "1\n")
        #expect(try bench.output("batches", "last", "-q") == "2\n")
        #expect(try bench.output("jobs", "--batch", "second", "-q") == "\(job)\n")
        #expect(try bench.output("jobs", "--batch", "last", "-q") == "\(job)\n")
        try await bench.complete(bench.claim(3, for: bench.worker())[0])
        #expect(try bench.run("errors", "--batch", "first talks").status == .exited(0))
        #expect(try bench.output("export", "--batch", "last", "--brief").split(separator: "\n").count == 2)
        let waited = try bench.run("wait", "--batch", "first talks", "--timeout", "0s")
        #expect(waited.outputText.hasPrefix("batch 1 \"first talks\"  "), "\(waited.outputText)")
    }

    @Test func aLabelOfSeveralBatchesIsAmbiguous() async throws {
        let bench = try LedgerBench()
        for _ in 0..<2 { try await bench.submit(1, Submission(label: "talks")) }
        let run = try bench.run("jobs", "--batch", "talks")
        #expect(run.status == .exited(1))
        let hint = "hint:  name one by its number, as in --batch 2\n"
        #expect(run.errorText == "error: several batches have the label \"talks\": 2, 1\n\(hint)")
    }

    @Test func aLabelThatNamesAnotherBatchIsRefused() async throws {
        let bench = try LedgerBench()
        for label in ["3", "-3", "+03", "last"] {
            let run = try bench.run("submit", "/nowhere/a.wav", "--to", "local:b.flac", "--label", label)
            #expect(run.status == .exited(2), "\(label)")
            #expect(run.errorText.contains("would name another batch"), "\(label): \(run.errorText)")
        }
        #expect(try await bench.ledger.batches().isEmpty)
    }

    @Test func namesThatNoBatchHasAreToldApart() async throws {
        let bench = try LedgerBench()
        let missing = try bench.run("jobs", "--batch", "talks")
        #expect((missing.status, missing.errorText) == (.exited(4), "error: no such batch \"talks\"\n"))
        let none = try bench.run("jobs", "--batch", "last")
        #expect((none.status, none.errorText) == (.exited(4), "error: you have not submitted a batch to this ledger\n"))
        #expect(try bench.run("jobs", "--batch", "0").status == .exited(2))
        #expect(try bench.run("jobs", "--batch", "").status == .exited(2))
    }

    /// The last batch is the caller's own: another login may have submitted since.
    @Test func lastIsTheCallersOwn() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        try await bench.submit(1)
        try bench.sql("update sluice.batch set submitter = 'producer' where id = 2")
        #expect(try bench.output("batches", "last", "-q") == "1\n")
    }
}
