import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A ledger of a hundred spans: what its calls lock, and that they find jobs in any span.
@Suite(.serialized)
struct SpanTests {
    private static let secret = PlanLab.Books.secret

    /// A ledger of 100 spans of 1,000 ids: 95,000 jobs have ended, 3,000 wait.
    private static let making = Task {
        let lab = try await LedgerLab()
        try await lab.set("lease = '1 h', span_size = 1000, span_size_most = 1000")
        let past = LedgerPast(schema: lab.schema.text, jobs: 95_000, batchSize: 1_000)
        try await onOwnThread {
            let batches = past.starts.map { past.batch(from: $0) }
            try lab.lab.server.run(each: [past.opening] + batches + [past.ending], database: lab.lab.database)
        }
        try await lab.submit(3_000, Submission(label: "late"))
        let begun = [
            "set search_path = sluice",
            """
            select make_spans(99500);
            insert into worker (id, secret, name, host, build, slots, abilities, started_at, beat_at, lease_until)
            select i, '\(secret)', 'w', 'h', 'b', 4, array(select distinct unnest(needs) from lane), now(), now(), now() + interval '1 h'
            from generate_series(1, 7) i
            """,
            "select count(*) from claim(1, '\(secret)', 200)", "select count(*) from claim(2, '\(secret)', 100)",
            """
            with mine as (select job, epoch, lease_id from running where worker = 2 order by job limit 60)
            select count(*) from publish(array(select job from mine), array(select epoch from mine),
                array(select lease_id from mine), array_fill('.a'::text, '{60}'), array_fill('aa'::text, '{60}'),
                array_fill(1::bigint, '{60}'), null, null, null, null, null)
            """,
        ]
        try await onOwnThread { _ = try lab.lab.server.run(each: begun, database: lab.lab.database) }
        return lab
    }

    // MARK: - Locks

    /// A call in plain SQL. It runs in a transaction that is rolled back.
    struct Call: CustomTestStringConvertible {
        let testDescription: String
        let sql: String

        /// The most relations that the call may lock in a ledger of 100 spans, which has 1,500 tables and indexes.
        let mostLocks: Int

        init(_ name: String, _ sql: String, mostLocks: Int = 64) {
            (testDescription, self.sql, self.mostLocks) = (name, sql, mostLocks)
        }
    }

    private static func fences(_ table: String, _ count: Int) -> String {
        """
        (select array_agg(job) as jobs, array_agg(epoch) as epochs, array_agg(lease_id) as leases
         from (select * from \(table) order by job limit \(count)) r) g
        """
    }

    static let calls =
        [
            Call("claim", "select count(*) from claim(3, '\(secret)', 100)"),
            Call("claim one", "select count(*) from claim(3, '\(secret)', 1)"),
            Call("held", "select count(*) from held(1, '\(secret)')"),
            Call(
                "beat",
                "select b.* from \(fences("running", 100)), beat(1, '\(secret)', g.jobs, g.epochs, g.leases) b"
            ),
            Call(
                "publish",
                """
                select count(*) from \(fences("running", 50)), publish(g.jobs, g.epochs, g.leases, array_fill('.a'::text, '{50}'),
                    array_fill('aa'::text, '{50}'), array_fill(1::bigint, '{50}'), null, null, null, null, null)
                """
            ),
            Call("finish", "select count(*) from \(fences("publishing", 50)), finish(g.jobs, g.epochs, g.leases)"),
            Call(
                "finish what is finished",
                """
                select count(*) from finish('{1,2,3}', '{1,1,1}', array_fill('00000000-0000-4000-8000-000000000000'::uuid, '{3}'))
                """
            ),
            Call(
                "fail",
                """
                select count(*) from fail((select jsonb_agg(jsonb_build_object('job', job, 'epoch', epoch, 'lease_id', lease_id,
                    'code', 'c', 'class', 'transient', 'stage', 'open', 'message', 'm'))
                    from (select * from running order by job limit 50) r))
                """
            ),
            Call("release", "select count(*) from \(fences("running", 50)), release(g.jobs, g.epochs, g.leases)"),
            Call("end workers", "select end_workers('{1}', 'lost', ledger_time())"),
            Call("audit running", "update setting set deadline_grace = '0'; select audit_running()"),
            Call(
                "take unfinished",
                "update publishing set handed_at = '-infinity'; select count(*) from take_unfinished(100, '{out}')"
            ),
            Call(
                "submit",
                """
                select * from submit((select jsonb_agg(jsonb_build_object('recipe', jsonb_build_object('version', 1, 'sources',
                    jsonb_build_array(jsonb_build_object('location', 'in:' || i || '.wav'))))) from generate_series(1, 100) i))
                """
            ),
            Call(
                "show jobs",
                "select count(*) from show_jobs(array(select i * 1000 - 1 from generate_series(1, 90) i))"
            ),
            Call(
                "attempts",
                "select count(*) from list_attempts(array(select i * 1000 - 1 from generate_series(1, 90) i))"
            ),
            Call(
                "amendments",
                "select count(*) from list_amendments(array(select i * 1000 - 1 from generate_series(1, 90) i))"
            ),
            Call("outputs", "select count(*) from list_outputs('{}', null, 1000)"),
            Call("earlier", "select count(*) from find_earlier('{past:1,past:2}', true)"),
            Call("scans", "select count(*) from find_scans('{in:1,in:2}')"),
            Call("makers", "select count(*) from list_makers('{past:1,past:2}')"),
            Call("jobs of a batch", "select count(*) from batch_jobs(7)"),
            Call("failures", "select count(*) from list_failures()"),
            Call("failures of a batch", "select count(*) from list_failures(null, null, 7)"),
            Call("count of a batch", #"select count_jobs('{"batch":7}')"#),
            Call("count of all spans", #"select count_jobs('{"codes":["truncated"]}')"#),
            Call("cancel", #"select * from cancel_jobs('{"states":["waiting"]}', null, 20)"#),
            Call("retry", #"select * from retry_jobs('{"batch":7,"states":["failed"]}')"#, mostLocks: 112),
            Call(
                "retry with other words",
                #"select * from retry_jobs('{"batch":7,"states":["failed"]}', null, 20, 'conceal')"#,
                mostLocks: 112
            ),
            Call("accept", #"select * from accept_jobs('{"batch":7,"states":["failed"]}')"#, mostLocks: 80),
            Call("prioritize", #"select * from prioritize_jobs('{"states":["waiting"]}', 3, null, 20)"#, mostLocks: 72),
        ]
        + [
            "{}", #"{"states":["failed"]}"#, #"{"queue":"default"}"#, #"{"codes":["truncated"]}"#,
            #"{"codes":["unknown"]}"#,
            #"{"classes":["permanent"]}"#, #"{"states":["waiting"]}"#, #"{"batch":7}"#, #"{"submitter":"unknown"}"#,
            #"{"ended_from":"2100-01-01T00:00:00Z"}"#, #"{"source_prefix":"past:"}"#,
            #"{"source_prefix":"past:","states":["failed"]}"#, #"{"source_prefix":"in:","states":["waiting"]}"#,
            #"{"ids":[17,1017,2017,3017,4017,5017,6017,7017,8017,9017,10017,97017,1000000]}"#,
        ].map { Call("page \($0)", "select count(*) from list_jobs('\($0)')") }

    @Test(arguments: calls)
    func callsLockFewRelationsWhateverTheNumberOfSpans(_ call: Call) async throws {
        let lab = try await Self.making.value
        let spans: Int = try await lab.value("select count(*) from \(lab.schema).span")
        #expect(spans == 100)
        // From the sixth call on, PostgreSQL may keep a generic plan for a function's statements.
        let once = "begin; set local search_path = sluice; \(call.sql); rollback"
        let counted = """
            begin; set local search_path = sluice; \(call.sql);
            select 'locks', count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'relation'; rollback
            """
        let text = try await onOwnThread {
            try lab.lab.server.run(each: [String](repeating: once, count: 6) + [counted], database: lab.lab.database)
        }
        let line = try #require(text.split(separator: "\n").last { $0.hasPrefix("locks|") }, "\(text)")
        let locks = try #require(Int(line.dropFirst("locks|".count)))
        #expect(locks <= call.mostLocks)
    }

    // MARK: - What is found

    @Test func pagesGoThroughAllSpansInOrder() async throws {
        let lab = try await Self.making.value
        func all(_ filter: JobFilter, _ limit: Int32) async throws -> [JobSummary] {
            var (jobs, cursor): ([JobSummary], JobCursor?) = ([], nil)
            repeat {
                let page = try await lab.ledger.jobs(matching: filter, after: cursor, limit: limit)
                jobs += page.jobs
                cursor = page.next
            } while cursor != nil
            return jobs
        }
        let failed = try await all(JobFilter(states: [.failed]), 400).map(\.job)
        let expected: [Int64] = (1...95_000).reversed().filter { (970..<995).contains($0 % 1_000) }
        #expect(failed == expected)
        let live = try await all(JobFilter(states: [.waiting, .running, .publishing]), 700).map(\.job)
        let newest: [Int64] = (95_001...98_000).reversed()
        #expect(live == newest)
        // Shows of 200 jobs cross the boundaries of spans, and their names are not sorted as numbers.
        let shows = try await all(JobFilter(states: [.cancelled], sourcePrefix: "past:show-1"), 30)
        let cancelled: [Int] = (1...95_000).filter { $0 % 1_000 >= 995 && String($0 / 200).hasPrefix("1") }
        let wanted: [String] = cancelled.map { (number: Int) -> String in "past:show-\(number / 200)/\(number).wav" }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(shows.map(\.source) == wanted)
        #expect(try await lab.ledger.count(matching: JobFilter(codes: ["truncated"])) == failed.count { $0 % 3 == 0 })
        #expect(
            try await lab.ledger.jobs(matching: JobFilter(ids: [3, 94_003, 96_003, 120_000])).jobs.map(\.job) == [
                96_003, 94_003, 3,
            ]
        )
        let ids: [Int64] = (1...90).map { $0 * 1_000 + 3 }
        let stories = try await lab.ledger.stories(of: ids)
        let found: [Int64] = stories.map(\.summary.job)
        #expect(found == ids && stories.allSatisfy { $0.attempts.count == 1 })
    }

    @Test func aClaimTellsEachJobsOwnRecipeWhicheverSpansTheyLieIn() async throws {
        let lab = try await LedgerLab()
        try await lab.set("span_size = 1000, span_size_most = 1000")
        let first = try await lab.submit(900, Submission(label: "first"))
        try await lab.submit(3_500, Submission(label: "second"))
        let worker = try await lab.worker()
        var claimsOfSeveral = 0
        for _ in 0..<4 {
            let claims = try await lab.claim(700, for: worker)
            #expect(claims.count == 700)
            claimsOfSeveral += Set(claims.map { ($0.fence.job - 1) / 1_000 }).count > 1 ? 1 : 0
            for claim in claims {
                let job = claim.fence.job
                let name = job <= first.lastJob ? "first/\(job - 1)" : "second/\(job - first.lastJob - 1)"
                #expect(claim.recipe.sources[0].location == "in:\(name).wav")
            }
        }
        #expect(claimsOfSeveral > 1)
    }

    // MARK: - Growth

    /// The ledger got another number after a coordinator had read the last id.
    @Test(arguments: [1, 1_023]) func spansAreMadeOnlyForIdsOfTheLedgersNumber(number: Int) async throws {
        let lab = try await LedgerLab()
        let made: Int = try await lab.value("select \(lab.schema).make_spans((\(number)::bigint << 43) + 150000)")
        #expect(made <= 2)
        let others: Int = try await lab.value(
            "select count(*) from \(lab.schema).span where first_id >> 43 <> 0 or next_id > 1000000000"
        )
        #expect(others == 0)
    }

    /// With a new ledger's default sizes.
    @Test func aThousandMillionJobsLieInTensOfSpans() async throws {
        let lab = try await LedgerLab()
        let made: Int = try await lab.value("select \(lab.schema).make_spans(1000000000)")
        #expect(made == 57)
        let sizes: [Int64] = try await lab.lab.run { connection in
            try connection.rows("select next_id - first_id from \(lab.schema).span order by first_id") { try $0[0] }
        }
        #expect(sizes.first == 1_000_000 && sizes.last == 50_000_000 && sizes == sizes.sorted())
        // After a gap in the past, the size of the next span depends on the spans that are left.
        let gap: Int = try await lab.value(
            "with gone as (delete from \(lab.schema).span where first_id < 900000000 returning 1) select count(*) from gone"
        )
        #expect(gap > 40)
        let next: Int64 = try await lab.value("select \(lab.schema).next_span_size()")
        #expect(next < 50_000_000)
    }

    // MARK: - The server's lock table

    @Test func lockTableHasPlacesForCallsAndSpans() {
        var table = LockTable(locksPerTransaction: 64, sessions: 100, spans: 57)
        #expect(table.places == 6_400 && table.isEnough && table.wantedLocksPerTransaction == 64)
        table.spans = 100
        #expect(!table.isEnough && table.wantedLocksPerTransaction == 128)
        table.spans = 1_000
        #expect(table.wantedLocksPerTransaction == 256)
        table.locksPerTransaction = 256
        #expect(table.isEnough)
    }
}
