import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Housekeeping does chores in pages, each in one transaction: no chore is too large, and none blocks another.
struct ChoreTests {
    private let secret = "00000000-0000-0000-0000-000000000001"

    /// The limit of one page, where a page that takes too long is not what a test is about: larger than any delay of
    /// a busy machine.
    private let patience = Duration.seconds(300)

    /// Ticks as coordinators do, in short slices, until nothing is left. Returns all reports.
    private func keepHouseToTheEnd(_ lab: LedgerLab) async throws -> [HousekeepingReport] {
        var reports: [HousekeepingReport] = []
        repeat {
            try #require(reports.count < 2_000, "housekeeping does not end")
            try await lab.age(by: .seconds(2))
            reports.append(try await lab.ledger.keepHouse(for: .milliseconds(200), within: patience))
        } while reports.last?.isUnfinished ?? true
        return reports
    }

    private func script(_ lab: LedgerLab, _ text: String) async throws {
        _ = try await onOwnThread {
            try lab.lab.server.run("set search_path = sluice; " + text, database: lab.lab.database)
        }
    }

    /// Sets the state of a coordinator that never slept.
    private func endQuiet(_ lab: LedgerLab) async throws {
        _ = try await lab.ledger.keepHouse()
        try await script(lab, "update house set quiet_until = '-infinity', tick_at = ledger_time() - interval '1 s'")
    }

    /// Creates workers whose leases are over. Each holds `thousands` thousand jobs.
    private func loseWorkers(_ lab: LedgerLab, _ count: Int, thousands: Int) async throws {
        try await script(
            lab,
            """
            insert into worker (id, secret, name, host, build, slots, abilities, started_at, beat_at, lease_until)
            select i, '\(secret)', 'w', 'h', 'b', 4, '{recipe:1}', now(), now(), now() + interval '1 h'
            from generate_series(1, \(count)) i;
            select sum(n) from (
                select (select count(*) from claim(w, '\(secret)', 1000)) as n
                from generate_series(1, \(count)) w, generate_series(1, \(thousands)) i
            ) c;
            update worker set lease_until = now() - interval '1 h';
            """
        )
    }

    /// Pages of a quarter of the usual size show the same as four times as many counts.
    @Test func countsAreFoldedInPages() async throws {
        let lab = try await LedgerLab()
        let receipt = try await lab.submit(1)
        try await script(
            lab,
            """
            update chore set page = 5000, largest_page = 5000 where name = 'fold_counts';
            insert into count_delta (queue, batch, state, jobs, at)
            select 1, case when i % 7 = 0 then \(receipt.batch) else i % 1000 + 10 end, 'completed', 1, clock_timestamp()
            from generate_series(1, 120000) i
            """
        )
        var pages = 0
        try await lab.age(by: .seconds(2))
        _ = try await lab.ledger.keepHouse(for: .zero, within: patience)
        // Counts are exact at all times, also half-way.
        #expect(try await lab.ledger.status().jobs.completed == 120_000)
        let half = try #require(try await lab.ledger.chores().first { $0.name == "fold_counts" })
        #expect(half.startedAt != nil && half.affected > 0 && half.remaining == 100_000 && half.finishedAt == nil)
        for report in try await keepHouseToTheEnd(lab) {
            #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            pages += report["fold_counts"]?.pages ?? 0
        }
        #expect(pages > 10)
        let left: Int = try await lab.value("select count(*) from \(lab.schema).count_delta")
        #expect(left == 0)
        #expect(try await lab.ledger.status().jobs.completed == 120_000)
        #expect(try await lab.ledger.batch(receipt.batch)?.jobs.completed == 17_142)
        let whole = try #require(try await lab.ledger.chores().first { $0.name == "fold_counts" })
        #expect(
            whole.startedAt == nil && whole.affected >= 120_000 && whole.remaining == 0 && whole.finishedAt != nil
        )
    }

    @Test func jobsOfAFleetThatIsLostComeBackInPages() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(60_000)
        try await loseWorkers(lab, 6, thousands: 10)
        #expect(try await lab.truth() == ["running": 60_000])
        try await endQuiet(lab)
        var reaped = 0
        for report in try await keepHouseToTheEnd(lab) {
            #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
            reaped += report["reap"]?.affected ?? 0
        }
        #expect(reaped == 60_000)
        #expect(try await lab.truth() == ["waiting": 60_000])
        #expect(try await lab.ledger.status().jobs.waiting == 60_000)
        let lost: Int = try await lab.value("select count(*) from \(lab.schema).attempt where outcome = 'lost'")
        #expect(lost == 60_000)
        let holding: Int = try await lab.value("select count(*) from \(lab.schema).worker where holds_jobs")
        #expect(holding == 0)
    }

    /// Jobs that the worker's sign-off did not hand back at once are released by housekeeping, and do not count as
    /// lost.
    @Test func whatIsLeftOfAStoppedWorkerIsHandedBack() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(25)
        let worker = try await lab.worker()
        _ = try await lab.claim(25, for: worker)
        let schema = lab.schema
        let first: Int = try await lab.value(
            "select \(schema).end_workers(array[\(worker.worker)], 'stopped', \(schema).ledger_time(), 10)"
        )
        #expect(first == 10)
        // This works also in the quiet period after an outage: no worker has to come back first.
        #expect(try await lab.ledger.keepHouse()["reap"]?.affected == 15)
        #expect(try await lab.truth() == ["waiting": 25])
        let released: Int = try await lab.value("select count(*) from \(schema).attempt where outcome = 'released'")
        #expect(released == 25)
    }

    @Test func aChoreThatFailsLeavesTheOthersDoneAndIsTold() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(10)
        let worker = try await lab.worker()
        _ = try await lab.claim(5, for: worker)
        try await script(lab, "alter table queue_count add constraint broken check (jobs < 0)")
        try await lab.age(by: .seconds(2))
        let report = try await lab.ledger.keepHouse()
        #expect(report["fold_counts"]?.error?.contains("broken") == true)
        #expect(report.chores.count == 13)
        #expect(report.chores.allSatisfy { $0.error == nil || $0.name == "fold_counts" }, "\(report)")
        let told = try await lab.ledger.chores().filter { $0.error != nil }
        #expect(told.map(\.name) == ["fold_counts"] && told[0].failedAt != nil && told[0].remaining == 3)
        try await script(lab, "alter table queue_count drop constraint broken")
        try await lab.age(by: .seconds(5))
        #expect(try await lab.keepWholeHouse()["fold_counts"]?.affected == 3)
        #expect(try await lab.ledger.chores().allSatisfy { $0.error == nil })
    }

    @Test func keepersThatWorkAtOnceDoEachPageOnce() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.submit(1)
        try await script(
            lab,
            """
            delete from count_delta;
            insert into count_delta (queue, batch, state, jobs, at)
            select 1, i % 50, 'completed', 1, clock_timestamp() from generate_series(1, 100000) i;
            update chore set page = 500, largest_page = 500 where name = 'fold_counts'
            """
        )
        let schema = lab.schema
        let folded = try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    var folded = 0
                    var misses = 0
                    while misses < 50 {
                        let done: Int? = try await lab.lab.run { connection in
                            try connection.first("select affected from \(schema).do_chore('fold_counts')") { try $0[0] }
                        }
                        folded += done ?? 0
                        misses = (done ?? 0) > 0 ? 0 : misses + 1
                    }
                    return folded
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(folded == 100_000)
        #expect(try await lab.ledger.status().jobs.completed == 100_000)
    }

    @Test func aKeeperThatIsKilledInAPageLeavesItToTheNext() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        let receipt = try await lab.submit(5)
        let schema = lab.schema
        // The page of `fold_counts` waits for this lock.
        let (source, batch) = (lab.lab.source, receipt.batch)
        let holder = Task {
            try await source.run("hold") { connection in
                try connection.transaction {
                    try connection.execute("select from \(schema).batch where id = \(batch) for update")
                    try connection.execute("select pg_sleep(600)")
                }
            }
        }
        try await lab.lab.untilRunning("%pg_sleep(600)%")
        let victim = Task {
            try await source.run("run housekeeping") { try $0.execute("select \(schema).do_chore('fold_counts')") }
        }
        try await lab.lab.untilRunning("%do_chore%", waitsFor: "transactionid")
        try await script(
            lab,
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = '\(lab.lab.name)' and query like '%do_chore%'
            """
        )
        _ = await victim.result
        holder.cancel()
        _ = await holder.result
        #expect(try await lab.ledger.keepHouse()["fold_counts"]?.affected == 1)
        #expect(try await lab.ledger.status().jobs.waiting == 5)
    }

    /// The caller's time limit ends the page. The other chores are done, and the next pages of this one are smaller.
    @Test func aPageThatTakesTooLongIsUndoneAndTheNextAreSmaller() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        let receipt = try await lab.submit(5)
        let (schema, source, batch) = (lab.schema, lab.lab.source, receipt.batch)
        let holder = Task {
            try await source.run("hold") { connection in
                try connection.transaction {
                    try connection.execute("select from \(schema).batch where id = \(batch) for update")
                    try connection.execute("select pg_sleep(600)")
                }
            }
        }
        try await lab.lab.untilRunning("%pg_sleep(600)%")
        let house = Task { try await lab.ledger.keepHouse(for: .zero, within: .seconds(20)) }
        try await lab.lab.untilRunning("%do_chore%", waitsFor: "transactionid")
        try await lab.lab.untilNoneRuns("%do_chore%", waitsFor: "transactionid")
        // If the page were tried again, it would succeed now.
        holder.cancel()
        _ = await holder.result
        let report = try await house.value
        #expect(report["fold_counts"]?.error != nil)
        #expect(report.chores.count == 13)
        #expect(report.chores.allSatisfy { $0.error == nil || $0.name == "fold_counts" }, "\(report)")
        #expect(try await lab.ledger.chores().first { $0.name == "fold_counts" }?.error?.contains("20000") == true)
        let page: Int = try await lab.value("select page from \(schema).chore where name = 'fold_counts'")
        #expect(page == 10_000)
        try await lab.age(by: .seconds(5))
        #expect(try await lab.keepWholeHouse()["fold_counts"]?.affected == 1)
        #expect(try await lab.ledger.chores().allSatisfy { $0.error == nil })
    }

    @Test func allThatRunsIsLookedThroughInPages() async throws {
        let lab = try await LedgerLab()
        try await lab.set("stall = '1000 s', lease = '3000 s'")
        try await lab.submit(30)
        let worker = try await lab.worker()
        _ = try await lab.claim(30, for: worker)
        try await endQuiet(lab)
        try await script(lab, "update chore set page = 10, largest_page = 10 where name = 'audit_running'")
        try await lab.age(by: .seconds(1_100))
        try await script(lab, "update house set tick_at = ledger_time() - interval '1 s'")
        let report = try await lab.ledger.keepHouse()
        #expect(report["audit_running"]?.affected == 30 && (report["audit_running"]?.pages ?? 0) >= 3)
        let stalled: Int = try await lab.value("select count(*) from \(lab.schema).attempt where code = 'stalled'")
        #expect(stalled == 30)
    }

    /// Housekeeping skips a lane that a submission holds until the next time, and handles the lanes behind it.
    @Test func aLineInUseKeepsNoOtherDown() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        for queue in ["a", "b", "c", "d", "e"] { try await lab.submit(3, Submission(queue: queue)) }
        let worker = try await lab.worker()
        _ = try await lab.claim(10, for: worker)
        let (schema, source) = (lab.schema, lab.lab.source)
        let lane: Int32 = try await lab.value("select id from \(schema).lane order by id offset 2 limit 1")
        let submitter = Task {
            try await source.run("submit") { connection in
                try connection.transaction {
                    try connection.execute("select \(schema).hold_lanes(array[\(lane)])")
                    try connection.execute("select pg_sleep(600)")
                }
            }
        }
        try await lab.lab.untilRunning("%pg_sleep(600)%")
        try await lab.age(by: .seconds(2))
        let report = try await lab.ledger.keepHouse()
        #expect(report["raise_floors"]?.error == nil)
        #expect(report["raise_floors"]?.affected == 4, "\(report)")
        submitter.cancel()
        _ = await submitter.result
        try await lab.age(by: .seconds(2))
        #expect(try await lab.keepWholeHouse()["raise_floors"]?.affected == 1)
    }

    /// Autovacuum locks a table for some milliseconds while it shortens it.
    @Test func aTableThatIsBeingShortenedFailsNoChore() async throws {
        let lab = try await LedgerLab { $0.connectionLimit = 8 }
        try await lab.submit(3)
        let (schema, source) = (lab.schema, lab.lab.source)
        let (locked, signal) = AsyncStream.makeStream(of: Void.self)
        let holder = Task {
            try await source.run("shorten") { connection in
                defer { signal.finish() }
                try connection.transaction {
                    try connection.execute("lock table \(schema).waiting in access exclusive mode")
                    signal.finish()
                    while try !connection.value(
                        "select exists (select from pg_locks where not granted and locktype = 'relation')"
                    ) {
                        // The server sends no event when housekeeping waits for the table.
                        try connection.execute("select pg_sleep(0.01)")
                    }
                    // Longer than housekeeping waits for a lane.
                    try connection.execute("select pg_sleep(0.1)")
                }
            }
        }
        for await _ in locked {}
        let page: [String?] = try await lab.lab.run { connection in
            try connection.rows("select error from \(schema).do_chore('raise_floors')") { try $0[0] }
        }
        #expect(page == [nil])
        try await holder.value
    }
}
