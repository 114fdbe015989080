import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// All functions take their locks in one order, documented in migrations/functions/locks.sql, so no deadlocks occur.
@Suite(.serialized)
struct LockOrderTests {
    /// Deadlocks and unexpected errors. Refusals that random calls may provoke do not count.
    private struct Outcome {
        var calls = 0
        var deadlocks: [String] = []
        var faults: [String] = []
    }

    /// Runs `sessions` sessions that make random calls for a while.
    private func bustle(_ lab: LedgerLab, _ calls: [Bustle.Call], sessions: Int, for time: Duration) async throws
        -> Outcome
    {
        let deck = calls.flatMap { Array(repeating: $0.sql, count: $0.weight) }
        let end = ContinuousClock.now + time
        return await withTaskGroup { group in
            for seed in 0..<sessions {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(seed))
                    var outcome = Outcome()
                    while ContinuousClock.now < end {
                        let sql = deck[generator.whole(in: 0..<deck.count)]
                        outcome.calls += 1
                        do {
                            let errors = try await lab.lab.run { connection in
                                try connection.rows(Statement(stringLiteral: sql)) { try $0[0] as String? }
                            }
                            // A chore returns its error as a value.
                            for case let error? in errors where error.contains("40P01") {
                                outcome.deadlocks.append("\(error): \(sql)")
                            }
                        } catch let error as LedgerError where error.sqlState == "40P01" {
                            outcome.deadlocks.append("\(error.detail): \(sql)")
                        } catch let error as LedgerError where [.ledgerLeaseOver, .ledgerRefused].contains(error.code) {
                            // The worker has been ended meanwhile, or `number_ledger` found jobs in the ledger.
                        } catch let error as LedgerError
                            where error.sqlState == "55P03" && sql.contains("number_ledger")
                        {
                            // Numbering does not wait for locks, and gives up while the ledger is busy.
                        } catch {
                            outcome.faults.append("\(error): \(sql)")
                        }
                    }
                    return outcome
                }
            }
            return await group.reduce(into: Outcome()) { whole, part in
                whole.calls += part.calls
                whole.deadlocks += part.deadlocks
                whole.faults += part.faults
            }
        }
    }

    /// A ledger on a server that detects deadlocks at once, or after a time.
    private func lab(detectingAfter time: String = "2ms") async throws -> LedgerLab {
        let server = try await onOwnThread {
            try PrivatePostgres.start(settings: ["deadlock_timeout": time, "log_lock_waits": "on"])
        }
        let lab = try await LedgerLab(on: server) { $0.connectionLimit = 24 }
        _ = try await onOwnThread { try server.run(Bustle.setting, database: lab.lab.database) }
        return lab
    }

    private func check(_ outcome: Outcome, _ lab: LedgerLab) async throws {
        #expect(
            outcome.deadlocks.isEmpty,
            "\(outcome.deadlocks.count) of \(outcome.calls): \(outcome.deadlocks.prefix(3))\n\(lab.lab.server.deadlocks.prefix(3).joined(separator: "\n"))"
        )
        #expect(outcome.faults.isEmpty, "\(outcome.faults.count) of \(outcome.calls): \(outcome.faults.prefix(3))")
        // A session reports its statistics when it ends.
        await lab.lab.source.close()
        let (server, database) = (lab.lab.server, lab.lab.database)
        let counted = try await onOwnThread {
            try server.run(
                """
                select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '\(database)';
                select 'deadlocks: ' || deadlocks from pg_stat_database where datname = '\(database)'
                """
            )
        }
        #expect(counted.hasSuffix("deadlocks: 0"), "\(counted)")
    }

    @Test func noCallsDeadlock() async throws {
        let lab = try await lab()
        let calls =
            Bustle.chores + Bustle.workers + Bustle.people + Bustle.lookers + Bustle.time + Bustle.webhooks
            + Bustle.tenants
        let outcome = try await bustle(lab, calls, sessions: 20, for: .seconds(10))
        try await check(outcome, lab)
    }

    /// An update that counts as a change of a key waits for the foreign keys that are being checked against the row.
    @Test func noUpdateOfANewLaneCountsAsAChangeOfItsKey() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 2 }
        let schema = lab.schema
        // In one session, which plans the statement that creates a lane for good after the first few.
        let made: Int = try await lab.value(
            """
            select count(*) from generate_series(1, 20) i cross join lateral \(schema).submit(
                '[{"needs": ["a"], "recipe": {"version": 1, "sources": [{"location": "in:x.wav"}]}}]', 'q' || i) s
            """
        )
        #expect(made == 20)
        try await lab.whileOpen(["select \(schema).raise_floors()", "select \(schema).fold_counts()"]) {
            // What a foreign key takes. Fails if it would have to wait.
            let free: Int = try await lab.value(
                "select count(*) from (select from \(schema).lane for key share nowait) l"
            )
            #expect(free == 20)
        }
    }

    /// Claims close the lanes that they empty, while submissions and housekeeping open them. No lane with jobs is lost.
    @Test func noCallsDeadlockOrLoseALaneAmongHundreds() async throws {
        let lab = try await lab()
        let (server, database) = (lab.lab.server, lab.lab.database)
        _ = try await onOwnThread { try server.run(Bustle.crowdSetting, database: database) }
        let calls = Bustle.chores + Bustle.workers + Bustle.crowd
        let outcome = try await bustle(lab, calls, sessions: 12, for: .seconds(5))
        let lost: [Int32] = try await lab.lab.run { [schema = lab.schema] connection in
            try connection.rows(
                """
                select l.id from \(schema).lane l
                where not l.is_open and l.id not in (select lane from \(schema).opened)
                    and exists (select from \(schema).waiting w where w.lane = l.id)
                """
            ) { try $0[0] }
        }
        #expect(lost.isEmpty, "\(lost)")
        let worker = try await lab.worker(abilities: ["a", "b", "c", "d"])
        var taken = 0
        while case let jobs = try await lab.ledger.claim(100, for: worker.worker),
            !jobs.jobs.isEmpty || !jobs.refused.isEmpty
        {
            taken += jobs.jobs.count + jobs.refused.count
        }
        let left: Int = try await lab.value("select count(*) from \(lab.schema).waiting")
        #expect(left == 0, "\(taken) were taken")
        try await check(outcome, lab)
    }

    /// Numbers a ledger during reads, while partitions are made and the first jobs come in.
    /// `number_ledger` gives way when it has waited for 50 ms, and relies on a server that looks for deadlocks later.
    @Test func noCallsDeadlockWhileALedgerIsNumbered() async throws {
        let lab = try await lab(detectingAfter: "200ms")
        var outcome = try await bustle(
            lab,
            Bustle.chores + Bustle.numbering + Bustle.lookers,
            sessions: 8,
            for: .seconds(2)
        )
        try await check(outcome, lab)
        let next = try await self.lab(detectingAfter: "200ms")
        outcome = try await bustle(
            next,
            Bustle.numbering + Bustle.people + Bustle.lookers,
            sessions: 8,
            for: .seconds(1)
        )
        try await check(outcome, next)
    }
}
