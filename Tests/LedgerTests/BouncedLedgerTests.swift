import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The main facts again, behind PgBouncer in transaction mode, with two server connections for all clients.
struct BouncedLedgerTests {
    /// A ledger, and clients that reach it through the pooler. The pooler lives as long as this value.
    private struct Line {
        let bouncer: PrivatePostgresBouncer
        let lab: LedgerLab
        let ledger: JobLedger
        private let configuration: LedgerConfiguration

        init() async throws {
            bouncer = try PrivatePostgresBouncer.start(before: .shared())
            lab = try await LedgerLab()
            var configuration = try lab.configuration(bouncer.url(database: lab.lab.database))
            configuration.connectionLimit = 8
            configuration.pollInterval = .milliseconds(20)
            ledger = try JobLedger(configuration)
            self.configuration = configuration
        }

        /// The heartbeats of one worker. They have one connection, and no beat waits long for an earlier one.
        func heartbeat() throws -> Heartbeat { try Heartbeat(configuration) }
    }

    @Test func aLedgerIsMadeThroughPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        var configuration = try LedgerConfiguration.patient(url: bouncer.url())
        configuration.schema = try SchemaName(PrivatePostgres.freshName())
        #expect(try await Migrator(configuration).run().applied.count == Migration.embedded.count)
        #expect(try await JobLedger(configuration).submit(recipes: [LedgerLab.recipe("a")]).jobCount == 1)
    }

    @Test func jobsGoAllTheirWaysAndEachIsGivenOutOnce() async throws {
        let line = try await Line()
        let (lab, ledger) = (line.lab, line.ledger)
        defer { withExtendedLifetime(line) {} }
        try await withThrowingTaskGroup { group in
            for number in 0..<4 {
                group.addTask {
                    // COPY through a pooler. Each submission uses a temporary table of its transaction.
                    let submission = Submission(queue: "q\(number % 2)", key: "k\(number)")
                    let receipt = try await ledger.submit(submission, LedgerLab.requests(500, "\(number)"))
                    #expect(!receipt.isRepetition)
                    let again = try await ledger.submit(submission, LedgerLab.requests(500, "\(number)"))
                    #expect(again.isRepetition && again.isSameRequest && again.firstJob == receipt.firstJob)
                }
            }
            try await group.waitForAll()
        }
        let jobs = try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                let heartbeat = try line.heartbeat()
                group.addTask {
                    let name = "w\(number)"
                    let entry = try await ledger.register(
                        WorkerRegistration(name: name, host: "h", build: "1", slots: 1)
                    )
                    var done: [Int64] = []
                    while true {
                        let fences = try await ledger.claim(20, for: entry.worker).jobs.map(\.fence)
                        if fences.isEmpty { return done }
                        let reply = try await heartbeat.beat(entry.worker, fences.map { RunningJob($0, frames: 1) })
                        #expect(reply.isAlive && reply.lost.isEmpty)
                        #expect(try await ledger.publish(fences.map(LedgerLab.publication)).allSatisfy { $0 == .done })
                        let (good, bad) = (fences.dropFirst(2), fences.prefix(1))
                        #expect(try await ledger.finish(Array(good)).allSatisfy { $0 == .done })
                        let failures = bad.map { AttemptFailure($0, LedgerLab.failure(.permanent)) }
                        #expect(try await ledger.fail(failures).allSatisfy { $0 == .done })
                        #expect(try await ledger.finish(Array(fences.dropFirst().prefix(1))) == [.done])
                        done += fences.map(\.job)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(jobs.count == 2_000)
        #expect(Set(jobs).count == 2_000)
        #expect(try await ledger.keepHouse().chores.allSatisfy { $0.error == nil })
        let status = try await ledger.status().jobs
        #expect(try await lab.truth() == ["completed": status.completed, "failed": status.failed])
        #expect(status.total == 2_000)
        #expect(try await ledger.apply(.retry, to: JobFilter(), chunk: 30).changed == status.failed)
        let story = try #require(try await ledger.story(of: jobs[0]))
        #expect(story.attempts.count == 1)
    }

    @Test func stateOfOneTransactionDoesNotLeakIntoAnother() async throws {
        let line = try await Line()
        let (lab, ledger) = (line.lab, line.ledger)
        defer { withExtendedLifetime(line) {} }
        let entry = try await ledger.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1))
        _ = try await ledger.submit(Submission(), LedgerLab.requests(300))
        // A submission that fails during COPY leaves its server connection clean for the next client.
        let broken = (0..<300).map { number in
            var request = JobRequest(LedgerLab.recipe("\(number)"))
            if number == 299 { request.recipe.limits = Recipe.Limits(expansionRatio: .infinity) }
            return request
        }
        #expect(try await failure { try await ledger.submit(Submission(), broken) }.code == .ledgerRefused)
        #expect(try await ledger.claim(300, for: entry.worker).jobs.count == 300)
        _ = try await ledger.submit(Submission(), LedgerLab.requests(300))
        #expect(try await lab.truth() == ["running": 300, "waiting": 300])
    }

    @Test func workIsLookedForByTheClock() async throws {
        let line = try await Line()
        defer { withExtendedLifetime(line) {} }
        var signals = line.ledger.workSignals().makeAsyncIterator()
        for _ in 0..<3 { #expect(await signals.next() == .timePassed) }
    }
}
