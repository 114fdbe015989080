import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Connections that break at the worst moment: nothing happens twice, and nothing is lost.
struct LostAnswerTests {
    /// A ledger behind a proxy that can lose calls, which it recognizes by their text.
    private struct Line {
        let lab: LedgerLab
        let proxy: DroppingProxy
        let ledger: JobLedger

        init() async throws {
            lab = try await LedgerLab()
            proxy = try DroppingProxy(before: lab.lab.server)
            var configuration = try lab.configuration(proxy.url(database: lab.lab.database))
            configuration.connectionLimit = 1
            ledger = try JobLedger(configuration)
        }

        /// Runs `body` while the proxy loses the next call that contains `text`, and checks that it did.
        func losing<Result>(
            _ loss: DroppingProxy.Loss,
            _ text: String,
            _ body: () async throws -> Result
        ) async throws -> Result {
            let before = proxy.losses
            proxy.lose(loss, ofNext: text)
            let result = try await body()
            #expect(proxy.losses == before + 1, "\(text) was not lost")
            return result
        }
    }

    /// Losses of all kinds, in an order that the seed decides. All these tests together make more than 500.
    private func losses(_ count: Int, seed: UInt64) -> [DroppingProxy.Loss] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { DroppingProxy.Loss.allCases[$0 % 3] }.shuffled(using: &generator)
    }

    @Test func aHundredSubmissionsWhoseAnswerIsLostAreThereOnce() async throws {
        let line = try await Line()
        for (number, loss) in losses(100, seed: 1).enumerated() {
            // Every tenth submission uses COPY and ends with a COMMIT.
            let isLarge = number.isMultiple(of: 10)
            let count = isLarge ? 250 : 2
            let key = number.isMultiple(of: 2) ? "k\(number)" : nil
            let receipt = try await line.losing(loss, isLarge ? "commit" : ".submit(") {
                try await line.ledger.submit(Submission(key: key), LedgerLab.requests(count, "\(number)"))
            }
            #expect(receipt.jobCount == count)
            #expect(!receipt.isRepetition && receipt.isSameRequest, "\(loss)")
        }
        let schema = line.lab.schema
        let batches: Int = try await line.lab.value("select count(*) from \(schema).batch")
        let sources: Int = try await line.lab.value("select count(distinct source) from \(schema).job")
        #expect(batches == 100)
        #expect(sources == 10 * 250 + 90 * 2)
        #expect(try await line.lab.truth() == ["waiting": sources])
    }

    @Test func aStreamedSubmissionWhoseAnswerIsLostArrivesOnce() async throws {
        let line = try await Line()
        for (number, loss) in losses(12, seed: 2).enumerated() {
            let stream = AsyncStream { continuation in
                for request in LedgerLab.requests(300, "\(number)") { continuation.yield(request) }
                continuation.finish()
            }
            let receipt = try await line.losing(loss, "commit") { try await line.ledger.submit(streaming: stream) }
            #expect(!receipt.isRepetition && receipt.isSameRequest, "\(loss)")
        }
        let batches: Int = try await line.lab.value("select count(*) from \(line.lab.schema).batch")
        #expect(batches == 12)
    }

    @Test func twoHundredClaimsWhoseAnswerIsLostAreFoundAgain() async throws {
        let line = try await Line()
        try await line.lab.submit(600)
        try await line.lab.set("lease = '1 h'")
        let worker = try await line.lab.worker()
        var inHand: Set<Fence> = []
        for loss in losses(200, seed: 3) {
            let claims = try await line.losing(loss, ".claim(") {
                try await line.ledger.claim(3, for: worker.worker, inHand: inHand)
            }
            #expect(claims.jobs.count == 3, "\(loss)")
            for claim in claims.jobs { #expect(inHand.insert(claim.fence).inserted) }
        }
        let jobs: Set<Int64> = Set(inHand.map(\.job))
        #expect(jobs.count == 600)
        #expect(inHand.allSatisfy { $0.epoch == 1 })
        #expect(try await line.lab.truth() == ["running": 600])
        let held = try await line.ledger.held(by: worker.worker)
        #expect(Set(held.jobs.map(\.fence)) == inHand)
    }

    @Test func reportsWhoseAnswerIsLostStandOnce() async throws {
        let line = try await Line()
        try await line.lab.submit(300)
        try await line.lab.set("lease = '1 h'")
        let worker = try await line.lab.worker()
        var claims = try await line.lab.claim(300, for: worker)
        for (number, loss) in losses(150, seed: 4).enumerated() {
            let fences = [claims.removeLast().fence, claims.removeLast().fence]
            let ledger = line.ledger
            var answers: [JobAnswer] = []
            switch number % 4 {
            case 0, 1:
                answers = try await line.losing(loss, ".publish(") {
                    try await ledger.publish(fences.map(LedgerLab.publication))
                }
                answers += try await line.losing(loss, ".finish(") { try await ledger.finish(fences) }
            case 2:
                answers = try await line.losing(loss, ".fail(") {
                    try await ledger.fail(fences.map { AttemptFailure($0, LedgerLab.failure(.permanent)) })
                }
            default:
                answers = try await line.losing(loss, ".release(") {
                    try await ledger.release(fences, after: .seconds(3_600))
                }
            }
            #expect(answers.allSatisfy { $0.stands }, "\(loss): \(answers)")
        }
        #expect(try await line.lab.truth() == ["completed": 152, "failed": 74, "delayed": 74])
        let attempts: Int = try await line.lab.value("select count(*) from \(line.lab.schema).attempt")
        #expect(attempts == 300)
        let counts = try #require(try await line.lab.ledger.counts()["default"])
        #expect((counts.completed, counts.failed, counts.delayed, counts.total) == (152, 74, 74, 300))
    }

    @Test func aReadThatLosesItsAnswerHasChangedNothing() async throws {
        let line = try await Line()
        line.proxy.lose(.answer, ofNext: "ledger_time")
        let ledger = line.ledger
        let error = try await failure {
            try await ledger.look("read the time", within: Lab.farTooLong) { connection in
                guard line.proxy.losses == 0 else {
                    throw LedgerError(.ledgerPermissionDenied, during: "read the time", "no more of this")
                }
                _ = try connection.execute("select \(ledger.schema).ledger_time()")
            }
        }
        #expect(line.proxy.losses == 1 && error.code == .ledgerPermissionDenied)
        #expect(!error.mayHaveHappened)
    }

    @Test func withoutTimeToFindOutItSaysThatItMayHaveHappened() async throws {
        let line = try await Line()
        line.proxy.lose(.answer, ofNext: ".submit(")
        let ledger = line.ledger
        let error = try await failure {
            try await ledger.source.settle("submit jobs", within: Lab.farTooLong) { connection, mayHaveHappened in
                if mayHaveHappened {
                    line.proxy.close()
                    throw LedgerError(.ledgerPermissionDenied, during: "submit jobs", "no more of this")
                }
                _ = try connection.execute(
                    "select * from \(ledger.schema).submit('[{\"recipe\": {\"version\": 1, \"sources\": [{\"location\": \"a\"}]}}]')"
                )
            }
        }
        #expect(error.code == .ledgerPermissionDenied)
        #expect(error.mayHaveHappened)
        #expect(try await line.lab.truth() == ["waiting": 1])
    }
}
