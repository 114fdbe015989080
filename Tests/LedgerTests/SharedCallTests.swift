import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Concurrent submissions of one job that share calls.
struct SharedCallTests {
    /// Submits each request by a task of its own. Returns the receipts and the errors in the order of the requests.
    private func submitAtOnce(
        _ requests: [(Submission, JobRequest)],
        _ ledger: JobLedger
    ) async -> [Result<SubmissionReceipt, any Error>] {
        await withTaskGroup(of: (Int, Result<SubmissionReceipt, any Error>).self) { group in
            for (number, (submission, request)) in requests.enumerated() {
                group.addTask {
                    do {
                        return (number, .success(try await ledger.submit(submission, [request])))
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            var results: [Int: Result<SubmissionReceipt, any Error>] = [:]
            for await (number, result) in group { results[number] = result }
            return requests.indices.compactMap { results[$0] }
        }
    }

    @Test func eachJobGetsABatchAndItsOwnReceipt() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        let requests = (0..<300).map { number in
            let submission = Submission(
                queue: number % 3 == 0 ? "a" : "b",
                label: "batch \(number)",
                weight: Int32(number + 1),
                maxAttempts: number % 5 == 0 ? 9 : nil,
                labels: ["number": "\(number)"]
            )
            let needs = number % 7 == 0 ? ["root:x"] : []
            return (submission, JobRequest(LedgerLab.recipe("\(number)"), needs: needs))
        }
        let receipts = try await submitAtOnce(requests, lab.ledger).map { try $0.get() }
        let batches: Set<Int64> = Set(receipts.map(\.batch))
        #expect(batches.count == 300)
        let jobs: Set<Int64> = Set(receipts.map(\.firstJob))
        #expect(jobs.count == 300)
        #expect(
            receipts.allSatisfy {
                !$0.isRepetition && $0.isSameRequest && $0.jobCount == 1 && $0.firstJob == $0.lastJob
            }
        )
        for number in stride(from: 0, to: 300, by: 23) {
            let story = try #require(try await lab.ledger.story(of: receipts[number].firstJob))
            #expect(try Recipe(json: story.recipe) == requests[number].1.recipe)
            #expect(story.summary.maxAttempts == (number % 5 == 0 ? 9 : 3))
            #expect(story.needs.contains("root:x") == (number % 7 == 0))
            let batch = try #require(try await lab.ledger.batch(receipts[number].batch))
            #expect((batch.name, batch.queue) == ("batch \(number)", number % 3 == 0 ? "a" : "b"))
        }
        #expect(try await lab.truth() == ["waiting": 300])
        // Each transaction has an id.
        let calls: Int = try await lab.value("select count(distinct xmin::text) from \(lab.schema).batch")
        #expect(calls < 150)
    }

    @Test func aFaultyJobFailsAlone() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        let requests = (0..<60).map { number in
            (Submission(), JobRequest(LedgerLab.recipe("\(number)"), cost: number % 20 == 10 ? 0 : 5))
        }
        let results = await submitAtOnce(requests, lab.ledger)
        for (number, result) in results.enumerated() {
            switch result {
            case .success(let receipt): #expect(number % 20 != 10 && !receipt.isRepetition)
            case .failure(let error):
                #expect(number % 20 == 10 && (error as? LedgerError)?.code == .ledgerRefused, "\(error)")
            }
        }
        #expect(try await lab.truth() == ["waiting": 57])
    }

    @Test func aCallerThatIsCancelledWhileItWaitsSubmitsNothing() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        // The lane exists from now on, so that the calls wait for the table and not for each other.
        try await lab.submit(1)
        let ledger = lab.ledger
        var calls: [Task<SubmissionReceipt, any Error>] = []
        try await lab.whileOpen(["lock table sluice.batch in exclusive mode"]) {
            for number in 0..<2 {
                calls.append(Task { try await ledger.submit(recipes: [LedgerLab.recipe("\(number)")]) })
            }
            try await lab.lab.untilRunning("%submit(%", waitsFor: "relation", sessions: 2)
            let waiting = Task { try await ledger.submit(recipes: [LedgerLab.recipe("late")]) }
            waiting.cancel()
            let error = try await failure { try await waiting.value }
            #expect(error.code == .cancelled)
        }
        for call in calls { #expect(try await call.value.jobCount == 1) }
        try await lab.submit(1)
        #expect(try await lab.truth() == ["waiting": 4])
    }

    /// The connections of the calls break, and each caller still gets one job.
    @Test func callsWhoseConnectionsBreakAddEachJobOnce() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        let requests = (0..<200).map { (Submission(), JobRequest(LedgerLab.recipe("\($0)"))) }
        let name = lab.lab.name
        let killing = Task {
            for _ in 0..<10 {
                try await lab.lab.run {
                    try $0.execute(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity
                        where application_name = \(name) and query like '%submit(%' and pid <> pg_backend_pid()
                        """
                    )
                }
            }
        }
        let receipts = try await submitAtOnce(requests, lab.ledger).map { try $0.get() }
        try await killing.value
        let jobs: Set<Int64> = Set(receipts.map(\.firstJob))
        #expect(jobs.count == 200)
        #expect(receipts.allSatisfy { !$0.isRepetition })
        #expect(try await lab.truth() == ["waiting": 200])
    }
}
