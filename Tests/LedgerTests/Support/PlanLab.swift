import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Two ledgers with the same activity: one almost new, and one with a long past and a long queue.
struct PlanLab {
    let server: PrivatePostgres
    let small: Books
    let large: Books

    /// Created once for all plan tests. They leave no changes behind.
    static func shared() async throws -> PlanLab { try await making.value }

    private static let making = Task { try await PlanLab() }

    private init() async throws {
        server = try await onOwnThread {
            try .start(settings: ["synchronous_commit": "off", "max_wal_size": "4GB", "autovacuum": "off"])
        }
        small = try await Books(on: server, finished: 2_000, waiting: 2_000)
        large = try await Books(on: server, finished: 1_000_000, waiting: 200_000)
    }

    /// One of the two ledgers.
    struct Books {
        let server: PrivatePostgres
        let database: String
        let finished: Int
        let waiting: Int
        /// The fences of jobs that worker 1 runs, and below those of jobs that are publishing; one SQL text for
        /// each group.
        let running: [String]
        let publishing: [String]

        // The number of jobs in each call.
        static let group = 100
        // The number of calls in a session. From the sixth on, PostgreSQL may keep a generic plan for a function's
        // statements.
        static let calls = 7

        fileprivate init(on server: PrivatePostgres, finished: Int, waiting: Int) async throws {
            let database = try server.createDatabase()
            _ = try await Migrator(.patient(url: server.url(database: database))).run()
            let past = LedgerPast(schema: "sluice", jobs: finished, batchSize: min(finished, 250_000))
            try await onOwnThread { _ = try server.run(past.opening, database: database) }
            let all = past.starts.map { $0 }
            // One task for each of two cores.
            async let odd: Void = Self.write(all.filter { $0 / past.batchSize % 2 == 1 }, of: past, server, database)
            async let even: Void = Self.write(all.filter { $0 / past.batchSize % 2 == 0 }, of: past, server, database)
            _ = try await (odd, even)
            try await onOwnThread {
                for text in [
                    past.ending, Self.addBatches(finished / 50), Self.submit(waiting),
                    // 2,000 jobs run, 1,000 are publishing, and 500 wait for another try. One of 7 workers is lost.
                    Self.work, "vacuum analyze",
                ] {
                    try server.run(text, database: database)
                }
            }
            (self.server, self.database, self.finished, self.waiting) = (server, database, finished, waiting)
            running = try Self.fences("running", "and worker = 1", server, database)
            publishing = try Self.fences("publishing", "", server, database)
        }

        private static func write(_ starts: [Int], of past: LedgerPast, _ server: PrivatePostgres, _ database: String)
            async throws
        {
            try await onOwnThread {
                for start in starts { try server.run(past.batch(from: start), database: database) }
            }
        }

        /// Creates batches whose jobs are gone, because the generated past has only a few batches.
        private static func addBatches(_ count: Int) -> String {
            """
            insert into sluice.batch (name, key, queue, priority, weight, created_at)
            select 'old', 'old-' || i, 1, 0, 100, now() - interval '30 days' + i * interval '1 s'
            from generate_series(1, \(count)) i
            """
        }

        private static func submit(_ count: Int) -> String {
            """
            select sluice.stage_jobs();
            insert into pg_temp.staged_job (ordinal, recipe)
            select i, jsonb_build_object('version', 1, 'sources',
                jsonb_build_array(jsonb_build_object('location', 'in:' || i || '.wav')))
            from generate_series(1, \(count) + 3600) i;
            select sluice.submit(null)
            """
        }

        /// The secret of all workers.
        static let secret = "00000000-0000-0000-0000-000000000001"

        private static let work = """
            set search_path = sluice;
            update setting set lease = '1 h';
            -- With numbers that a test can write down.
            insert into worker (id, secret, name, host, build, slots, abilities, started_at, beat_at, lease_until)
            select i, '\(secret)', 'w', 'h', 'b', 4, '{recipe:1}', now(), now(), now() + interval '1 h'
            from generate_series(1, 7) i;
            select count(*) from claim(1, '\(secret)', 1000);
            select count(*) from generate_series(2, 6) w, lateral claim(w, '\(secret)', 200);
            create temporary table given as select * from claim(7, '\(secret)', 1000);
            select count(*) from publish(
                (select array_agg(job) from given), (select array_agg(epoch) from given),
                (select array_agg(lease_id) from given), (select array_agg('.' || job) from given),
                (select array_agg('aa'::text) from given), (select array_agg(1::bigint) from given),
                null, null, null, null, null);
            create temporary table failing as select * from claim(7, '\(secret)', 500);
            select count(*) from fail((select jsonb_agg(jsonb_build_object(
                'job', job, 'epoch', epoch, 'lease_id', lease_id, 'code', 'source_gone', 'class', 'transient',
                'stage', 'open', 'message', 'it is not there')) from failing));
            -- By chance some would be due already, and a claim would wake them.
            update delayed set ready_at = clock_timestamp() + interval '30 min';
            select count(*) from claim(7, '\(secret)', 100);
            update worker set lease_until = clock_timestamp() - interval '1 s' where id = 7;
            select count(*) from fold_counts(), raise_floors();
            """

        /// SQL arrays of jobs, epochs and leases, the first parameters of a call, for one group after another.
        private static func fences(_ table: String, _ condition: String, _ server: PrivatePostgres, _ database: String)
            throws -> [String]
        {
            try server.run(
                """
                select format('%L::bigint[], %L::integer[], %L::uuid[]',
                              array_agg(job), array_agg(epoch), array_agg(lease_id))
                from (select *, row_number() over (order by job) as place from sluice.\(table) where true \(condition)) r
                group by (place - 1) / \(group) order by 1 limit \(calls)
                """,
                database: database
            ).split(separator: "\n").map(String.init)
        }

        /// The plans of `count` calls in one session, after statements that are rolled back with them.
        func plans(of call: GuardedCall, count: Int = calls, after preparation: [String] = []) async throws
            -> [Explained]
        {
            let calls = (0..<count).map { call.sql(self, $0) }
            return try await onOwnThread {
                try Explained.calls(calls, after: call.preparation + preparation, in: database, on: server)
            }
        }
    }
}

/// A call whose plans are guarded.
struct GuardedCall: Sendable, CustomTestStringConvertible {
    let name: String
    let rules: PlanGuard
    var preparation: [String] = []
    /// Statements that drop an index that the call needs. The guard must notice.
    var breakages: [String] = []
    /// The SQL of the n-th call in a session.
    let sql: @Sendable (PlanLab.Books, Int) -> String

    /// Whether the call is about a group of jobs that a worker holds.
    var isOfAGroup: Bool {
        ["beat", "publish", "publish what is to be stopped", "fail", "finish", "release"].contains(name)
    }

    var testDescription: String { name }
}
