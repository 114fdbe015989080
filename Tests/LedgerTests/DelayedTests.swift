import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Jobs that are not due yet, and how much of them claims read.
struct DelayedTests {
    /// The pages that a claim touches at least.
    private func pages(_ lab: LedgerLab, _ worker: WorkerEntry) async throws -> Int {
        let secret = try #require(WorkerSecrets[worker.worker]).uuidString
        let claim = "select count(*) from sluice.claim(\(worker.worker), '\(secret)', 1)"
        return try #require(try await lab.pages(of: Array(repeating: claim, count: 5)).min())
    }

    /// Holds a snapshot, as a long backup does, while `body` runs.
    private func whileHeld(_ lab: LedgerLab, _ body: () async throws -> Void) async throws {
        let holding = Task {
            try await lab.lab.run { connection in
                try connection.script("begin isolation level repeatable read", changes: false)
                try connection.execute("select count(*) from \(lab.schema).delayed")
                try connection.execute("select pg_sleep(600)")
            }
        }
        try await lab.lab.untilRunning("%pg_sleep(600)%")
        try await body()
        holding.cancel()
        _ = await holding.result
    }

    @Test func aClaimReadsNothingOfJobsThatWereWokenBefore() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.submit(50)
        let before = try await pages(lab, worker)
        let jobs = 50_000
        try await whileHeld(lab) {
            try await lab.submit(jobs, Submission(runAt: try await lab.ledger.time() + 3_600))
            try await lab.age(by: .seconds(7_200))
            let woken: Int = try await lab.value("select \(lab.schema).wake_delayed(\(Int32(jobs)))")
            #expect(woken == jobs)
            // Lanes and index levels have grown a little. Reading each dead row would cost a page.
            let after = try await pages(lab, worker)
            #expect(after <= before + 200, "\(before), then \(after)")
        }
        #expect(try await lab.claim(1, for: worker).count == 1)
    }

    /// Uncommitted rows are invisible, and may be due earlier.
    @Test func theTimeToLookFromIsNotRaisedWhileJobsArePutOff() async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema
        let from: @Sendable () async throws -> Date? = { try await lab.value("select \(schema).delayed_from()") }
        func wake() async throws { let _: Int = try await lab.value("select \(schema).wake_delayed(10)") }
        try await lab.age(by: .seconds(1))
        try await wake()
        let first = try #require(try await from())

        try await lab.whileOpen(["select \(schema).hold_delayed()"]) {
            try await lab.age(by: .seconds(10))
            try await wake()
            #expect(try await from() == first)
        }
        try await lab.lab.run { connection in
            try connection.script("begin", changes: false)
            try connection.execute("select \(schema).wake_delayed(10)")
            try connection.script("rollback", changes: false)
        }
        #expect(try await from() == first, "a rolled back call raised the floor")
        try await wake()
        #expect(try #require(try await from()) > first)
    }

    /// The clock goes back when another server takes over whose clock is an hour behind.
    @Test func aClockThatGoesBackHidesNoJob() async throws {
        let lab = try await LedgerLab()
        let worker = try await lab.worker()
        try await lab.age(by: .seconds(3_600))
        _ = try await lab.ledger.keepHouse()
        try await lab.age(by: .seconds(-3_600))
        let soon = try await lab.ledger.time() + 600
        try await lab.submit(2, Submission(runAt: soon))
        let jobs = try await lab.ledger.jobs(matching: JobFilter(states: [.delayed])).jobs
        #expect(jobs.count == 2 && jobs.allSatisfy { $0.readyAt.map { abs($0.timeIntervalSince(soon)) < 1 } == true })
        try await lab.submit(1)
        let fence = try #require(try await lab.claim(1, for: worker).first).fence
        try await lab.ledger.release([fence], because: .fileSystemFull, after: .seconds(900), message: "full")
        #expect(try await lab.claim(9, for: worker).isEmpty)
        #expect(try await lab.ledger.recall(.fileSystemFull) == 1)
        #expect(try await lab.claim(9, for: worker).count == 1)
        try await lab.age(by: .seconds(601))
        #expect(try await lab.claim(9, for: worker).count == 2)
    }
}
