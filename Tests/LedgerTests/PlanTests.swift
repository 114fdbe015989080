import TestSupport
import Testing

@testable import Ledger

/// What the ledger's calls read does not grow with the ledger: the large one has a million finished and 200,000
/// waiting jobs.
@Suite(.serialized)
struct PlanTests {
    @Test(arguments: GuardedCall.all)
    func readsNothingFromEndToEndOnALargeLedger(_ call: GuardedCall) async throws {
        let lab = try await PlanLab.shared()
        for (number, plan) in try await lab.large.plans(of: call).enumerated() {
            let violations = call.rules.violations(in: plan)
            #expect(violations.isEmpty, "call \(number + 1)")
        }
    }

    @Test(arguments: GuardedCall.all)
    func touchesAsManyPagesOnALargeLedgerAsOnASmallOne(_ call: GuardedCall) async throws {
        let lab = try await PlanLab.shared()
        // Leave out the first call, which also loads the catalog entries of the tables.
        let small = try await lab.small.plans(of: call).dropFirst().map(\.blocks)
        let large = try await lab.large.plans(of: call).dropFirst().map(\.blocks)
        let (usual, most) = try (#require(small.max()), #require(large.max()))
        // Indexes are a level or two deeper, and there are a few more partitions.
        #expect(most <= usual * 3 / 2 + 250, "\(small), then \(large)")
    }

    @Test(arguments: GuardedCall.all.filter { !$0.breakages.isEmpty })
    func noticesWhenAnIndexIsGone(_ call: GuardedCall) async throws {
        let lab = try await PlanLab.shared()
        for breakage in call.breakages {
            for plan in try await lab.large.plans(of: call, count: 1, after: [breakage]) {
                #expect(!call.rules.violations(in: plan).isEmpty, "\(breakage)")
            }
        }
    }

    /// Hot tables are empty at times, and the server may analyze them just then.
    @Test(arguments: GuardedCall.all.filter(\.isOfAGroup))
    func comparesNoPairsInVainWhenHotTablesWereAnalyzedEmpty(_ call: GuardedCall) async throws {
        let lab = try await PlanLab.shared()
        let emptied = ["running", "publishing"].flatMap { table in
            [
                "create temporary table kept_\(table) as select * from sluice.\(table)",
                "delete from sluice.\(table)", "analyze sluice.\(table)",
                "insert into sluice.\(table) select * from kept_\(table)",
            ]
        }
        for (number, plan) in try await lab.large.plans(of: call, after: emptied).enumerated() {
            let violations = call.rules.violations(in: plan)
            #expect(violations.isEmpty, "call \(number + 1)")
        }
    }

    /// A lane stays when its jobs have ended, so there may be thousands, and most of them are of no call's concern.
    @Test(arguments: GuardedCall.all.filter(\.isOfAGroup))
    func readsNoLanesButThoseOfItsJobs(_ call: GuardedCall) async throws {
        let lab = try await PlanLab.shared()
        let closed = """
            insert into sluice.lane (id, queue, share, priority, needs) overriding system value
            select -i, queue, share, 0, array['codec:' || i]
            from (select * from sluice.lane order by id limit 1) l, generate_series(1, 3000) i
            """
        for (number, plan) in try await lab.large.plans(of: call, after: [closed]).enumerated() {
            let most = plan.nodes.filter { $0.isRun && $0.relation == "lane" }.map(\.rowsSeen).max() ?? 0
            #expect(most <= 200, "call \(number + 1)")
        }
    }

    /// A million finished jobs may have the text in their sources. A call reads twenty thousand of them by their keys,
    /// and says where the next call continues.
    @Test func aSearchInsideSourcesReadsABoundedNumberOfJobs() async throws {
        let lab = try await PlanLab.shared()
        let search = GuardedCall(
            name: "search",
            rules: PlanGuard(indexes: ["finished_pkey", "job_pkey"])
        ) { books, number in
            let cursor = #"{"job": \#(books.finished / 2)}"#
            return "select count(*) + \(number) from sluice.list_jobs('{\"source_contains\":\"no text\"}', '\(cursor)')"
        }
        for plan in try await lab.large.plans(of: search) {
            #expect(search.rules.violations(in: plan).isEmpty)
            // About four pages of indexes and tables for each job.
            #expect(plan.blocks < 200_000, "\(plan.blocks)")
        }
    }

    @Test func noticesAPlanThatCountsJobs() async throws {
        let lab = try await PlanLab.shared()
        for table in ["finished", "waiting", "job"] {
            let counting = GuardedCall(name: "count", rules: PlanGuard()) { _, _ in
                "select count(*) from sluice.\(table)"
            }
            for plan in try await lab.large.plans(of: counting, count: 1) {
                #expect(!PlanGuard().violations(in: plan).isEmpty, "\(table)")
            }
        }
    }

    @Test func theLedgersAreAsLargeAsTheyAreSaidToBe() async throws {
        let lab = try await PlanLab.shared()
        for books in [lab.small, lab.large] {
            let counts = try lab.server.run(
                """
                set search_path = sluice;
                select (select count(*) from finished), (select count(*) from waiting), (select count(*) from running),
                       (select count(*) from publishing), (select count(*) from delayed)
                """,
                database: books.database
            )
            #expect(counts == "\(books.finished)|\(books.waiting)|2100|1000|500")
        }
    }
}

extension GuardedCall {
    static let all = work + pages + overview + views

    // MARK: - What workers and housekeeping do

    private static let work = [
        GuardedCall(
            name: "claim",
            rules: PlanGuard(indexes: ["waiting_turn", "job_pkey"]),
            breakages: ["drop index sluice.waiting_turn", "alter table sluice.job drop constraint job_pkey"]
        ) { _, _ in "select count(*) from sluice.claim(1, '\(PlanLab.Books.secret)', 100)" },
        GuardedCall(
            name: "beat",
            rules: PlanGuard(indexes: ["running_pkey"]),
            breakages: ["alter table sluice.running drop constraint running_pkey"]
        ) { books, number in
            """
            select count(*) from sluice.beat(1, '\(PlanLab.Books.secret)', \(books.running[number]), array_fill(\(number + 1)::bigint, '{100}'),
                array_fill(1000::bigint, '{100}'), array_fill(1::smallint, '{100}'))
            """
        },
        GuardedCall(
            name: "held",
            rules: PlanGuard(indexes: ["running_worker", "running_pkey", "job_pkey"]),
            breakages: ["drop index sluice.running_worker"]
        ) { _, number in "select count(*) as call_\(number) from sluice.held(1, '\(PlanLab.Books.secret)')" },
        GuardedCall(
            name: "publish",
            rules: PlanGuard(indexes: ["running_pkey"]),
            breakages: ["alter table sluice.running drop constraint running_pkey"]
        ) { books, number in
            """
            select count(*) from sluice.publish(\(books.running[number]), array_fill('.a'::text, '{100}'),
                array_fill('aa'::text, '{100}'), array_fill(1::bigint, '{100}'), null, null, null, null, null)
            """
        },
        GuardedCall(
            name: "publish what is to be stopped",
            rules: PlanGuard(indexes: ["running_pkey", "job_pkey"]),
            preparation: ["update sluice.running set cancel_asked = true where worker = 1"]
        ) { books, number in
            """
            select count(*) from sluice.publish(\(books.running[number]), array_fill('.a'::text, '{100}'),
                array_fill('aa'::text, '{100}'), array_fill(1::bigint, '{100}'), null, null, null, null, null)
            """
        },
        GuardedCall(
            name: "fail",
            rules: PlanGuard(indexes: ["running_pkey", "job_pkey"])
        ) { books, number in
            """
            select count(*) from sluice.fail((select jsonb_agg(jsonb_build_object('job', job, 'epoch', epoch,
                'lease_id', lease_id, 'code', 'c', 'class', 'transient', 'stage', 'open', 'message', 'm'))
                from unnest(\(books.running[number])) as g (job, epoch, lease_id)))
            """
        },
        GuardedCall(
            name: "finish",
            rules: PlanGuard(indexes: ["publishing_pkey"]),
            breakages: ["alter table sluice.publishing drop constraint publishing_pkey"]
        ) { books, number in "select count(*) from sluice.finish(\(books.publishing[number]))" },
        GuardedCall(
            name: "finish what is finished",
            rules: PlanGuard(indexes: ["publishing_pkey", "attempt_pkey"]),
            breakages: ["alter table sluice.attempt drop constraint attempt_pkey"]
        ) { _, number in
            """
            select count(*) from sluice.finish(array(select generate_series(1 + \(number), 100 + \(number))::bigint),
                array_fill(1, '{100}'), array_fill('00000000-0000-4000-8000-000000000000'::uuid, '{100}'))
            """
        },
        GuardedCall(
            name: "release",
            rules: PlanGuard(indexes: ["running_pkey", "job_pkey"]),
            breakages: ["alter table sluice.running drop constraint running_pkey"]
        ) { books, number in "select count(*) from sluice.release(\(books.running[number]))" },
        GuardedCall(
            name: "recall",
            rules: PlanGuard(indexes: ["delayed_handed_back"]),
            preparation: [
                "update sluice.delayed set code = 'file_system_full', stage = 'release' where job % 50 = 0"
            ],
            breakages: ["drop index sluice.delayed_handed_back"]
        ) { _, number in "select sluice.recall('file_system_full', 100) as call_\(number)" },
        // Reaping scans all running jobs for those of a lost worker. There are only as many as there are slots.
        GuardedCall(
            name: "reap",
            rules: PlanGuard(scanned: ["running"]),
            preparation: ["update sluice.house set tick_at = sluice.ledger_time()"]
        ) { _, number in "select sluice.reap() as call_\(number)" },
        // Few jobs are publishing at a time. Their recipes are looked up among those of all jobs.
        GuardedCall(
            name: "take unfinished",
            rules: PlanGuard(indexes: ["job_pkey"], scanned: ["publishing"]),
            preparation: ["update sluice.publishing set handed_at = handed_at - interval '1 d'"],
            breakages: ["alter table sluice.job drop constraint job_pkey"]
        ) { _, number in "select count(*) as call_\(number) from sluice.take_unfinished(100, '{out}')" },
        GuardedCall(
            name: "reap one more",
            rules: PlanGuard(indexes: ["running_pkey", "job_pkey"], scanned: ["running"]),
            breakages: ["alter table sluice.running drop constraint running_pkey"]
        ) { _, number in "select sluice.end_workers(array[\(number + 1)]::bigint[], 'lost', sluice.ledger_time())" },
        GuardedCall(
            name: "wake_delayed",
            rules: PlanGuard(indexes: ["delayed_ready_at"]),
            preparation: ["update sluice.setting set clock_shift = '1 h'"],
            breakages: ["drop index sluice.delayed_ready_at"]
        ) { _, number in "select sluice.wake_delayed(50) as call_\(number)" },
        GuardedCall(
            name: "fold_use",
            rules: PlanGuard(rowLimit: 200),
            preparation: [
                "insert into sluice.tenant (name, created_at, created_by) values ('radio', now(), 'x')",
                "insert into sluice.use_delta (tenant, cpu_ms, bytes, at) values ('radio', 1, 1, now())",
            ]
        ) { _, number in "select sluice.fold_use(1000) as call_\(number)" },
        GuardedCall(
            name: "raise_floors",
            rules: PlanGuard(indexes: ["waiting_turn"]),
            breakages: ["drop index sluice.waiting_turn"]
        ) { _, number in "select sluice.raise_floors() as call_\(number)" },
        GuardedCall(
            name: "submit",
            rules: PlanGuard(indexes: ["waiting_turn"]),
            breakages: ["drop index sluice.waiting_turn"]
        ) { _, number in
            """
            select count(*) from sluice.submit((select jsonb_agg(jsonb_build_object('recipe', jsonb_build_object(
                'version', 1, 'sources', jsonb_build_array(jsonb_build_object('location', 'in:\(number).wav')))))
                from generate_series(1, 100)), batch_key => '\(number)')
            """
        },
        GuardedCall(
            name: "submit a hundred batches of one job",
            rules: PlanGuard(indexes: ["waiting_turn"]),
            breakages: ["drop index sluice.waiting_turn"]
        ) { _, number in
            """
            select count(*) from sluice.submit_each((select jsonb_agg(jsonb_build_object('key', '\(number) ' || i, 'job',
                jsonb_build_object('recipe', jsonb_build_object('version', 1,
                    'sources', jsonb_build_array(jsonb_build_object('location', 'in:\(number).wav'))))))
                from generate_series(1, 100) i))
            """
        },
    ]

    // MARK: - What people look at

    private static func page(
        _ filter: String,
        behind: String = "null",
        uses indexes: Set<String>,
        scans scanned: Set<String> = [],
        rowLimit: Int = 2_000,
        breakages: [String]
    ) -> GuardedCall {
        let rules = PlanGuard(indexes: indexes, rowLimit: rowLimit, scanned: scanned)
        return GuardedCall(name: "page \(filter)", rules: rules, breakages: breakages) { books, number in
            let cursor = behind.replacing("half", with: "\(books.finished / 2)")
            return "select count(*) as call_\(number) from sluice.list_jobs('\(filter)', \(cursor))"
        }
    }

    private static let pages = [
        page(
            "{}",
            uses: ["waiting_pkey", "running_pkey", "publishing_pkey", "delayed_pkey", "finished_pkey", "job_pkey"],
            breakages: [
                "alter table sluice.waiting drop constraint waiting_pkey",
                "alter table sluice.finished drop constraint finished_pkey",
            ]
        ),
        page(
            #"{"queue":"default"}"#,
            behind: #"'{"job":half}'"#,
            uses: ["finished_queue_state_job_idx", "job_pkey"],
            breakages: ["drop index sluice.finished_state"]
        ),
        page(
            #"{"states":["failed"]}"#,
            uses: ["finished_queue_state_job_idx", "job_pkey"],
            breakages: ["drop index sluice.finished_state"]
        ),
        page(
            #"{"states":["cancelled"],"queue":"default"}"#,
            behind: #"'{"job":half}'"#,
            uses: ["finished_queue_state_job_idx"],
            breakages: ["drop index sluice.finished_state"]
        ),
        page(
            #"{"codes":["truncated"]}"#,
            behind: #"'{"job":half}'"#,
            uses: ["finished_code_job_idx"],
            breakages: ["drop index sluice.finished_code"]
        ),
        page(
            #"{"classes":["permanent"]}"#,
            uses: ["finished_code_job_idx"],
            // Jobs that wait for another try have no index by class. They are few.
            scans: ["delayed"],
            breakages: ["drop index sluice.finished_code"]
        ),
        page(
            #"{"source_prefix":"past:show-5/"}"#,
            uses: ["job_left_id_idx"],
            breakages: ["drop index sluice.job_source"]
        ),
        // No running job has such a source, but a million finished ones have.
        page(
            #"{"source_prefix":"past:","states":["running"]}"#,
            uses: ["job_pkey"],
            scans: ["running"],
            rowLimit: 3_000,
            breakages: []
        ),
        page(
            #"{"source_prefix":"past:","states":["delayed","running","publishing"]}"#,
            uses: ["job_pkey"],
            scans: ["delayed", "running", "publishing"],
            rowLimit: 3_000,
            breakages: []
        ),
        // Two hundred thousand jobs wait, and a million have ended.
        page(
            #"{"source_prefix":"","states":["waiting"]}"#,
            uses: ["waiting_pkey"],
            scans: ["waiting"],
            rowLimit: 6_000,
            breakages: []
        ),
        page(
            #"{"ended_from":"2100-01-01T00:00:00Z"}"#,
            uses: ["finished_ended_at_idx"],
            breakages: ["drop index sluice.finished_ended_at"]
        ),
        page(
            #"{"states":["waiting"]}"#,
            uses: ["waiting_pkey"],
            breakages: ["alter table sluice.waiting drop constraint waiting_pkey"]
        ),
        // None of the million finished jobs has remarks.
        page(
            #"{"remarks":true}"#,
            uses: ["finished_queue_job_idx"],
            breakages: ["drop index sluice.finished_remarks"]
        ),
        page(
            #"{"remarks":true,"batch":1}"#,
            uses: ["finished_queue_job_idx"],
            breakages: ["drop index sluice.finished_remarks"]
        ),
        page(
            #"{"ids":[17]}"#,
            uses: ["finished_pkey", "job_pkey"],
            breakages: ["alter table sluice.finished drop constraint finished_pkey"]
        ),
    ]

    private static let overview =
        [
            "counts()", "demand()", "demand('default')", "status()", "list_queues()", "list_batches()",
            "find_batches('a')", "find_batches(null)",
            "list_failures()", "ledger_metrics()",
            #"count_jobs('{"states":["failed"]}')"#,
        ]
        .map { function in
            GuardedCall(name: function, rules: PlanGuard(rowLimit: 200)) { _, number in
                "select count(*) as call_\(number) from sluice.\(function)"
            }
        } + [
            GuardedCall(
                name: "show_jobs",
                rules: PlanGuard(indexes: ["finished_pkey", "job_pkey"]),
                breakages: ["alter table sluice.finished drop constraint finished_pkey"]
            ) { _, number in "select count(*) as call_\(number) from sluice.show_jobs(array[\(17 + number)])" },
            GuardedCall(
                name: "list_attempts",
                rules: PlanGuard(indexes: ["attempt_pkey"]),
                breakages: ["alter table sluice.attempt drop constraint attempt_pkey"]
            ) { _, number in "select count(*) as call_\(number) from sluice.list_attempts(array[\(17 + number)])" },
            GuardedCall(
                name: "show_jobs, many",
                rules: PlanGuard(indexes: ["finished_pkey", "job_pkey"]),
                breakages: ["alter table sluice.finished drop constraint finished_pkey"]
            ) { _, number in
                "select count(*) as call_\(number) from sluice.show_jobs(array(select generate_series(1, 40) + \(number)))"
            },
            GuardedCall(
                name: "list_attempts, many",
                rules: PlanGuard(indexes: ["attempt_pkey"]),
                breakages: ["alter table sluice.attempt drop constraint attempt_pkey"]
            ) { _, number in
                "select count(*) as call_\(number) from sluice.list_attempts(array(select generate_series(1, 40) + \(number)))"
            },
            GuardedCall(
                name: "list_amendments, many",
                rules: PlanGuard(indexes: ["job_pkey"]),
                breakages: ["alter table sluice.job drop constraint job_pkey"]
            ) { _, number in
                "select count(*) as call_\(number) from sluice.list_amendments(array(select generate_series(1, 40) + \(number)))"
            },
        ]

    /// What the views of the page read besides. An open page reads it again every few seconds.
    private static let views: [GuardedCall] =
        [
            "counts(true)", "paces(now() - interval '6 hours')", "failure_hours(now() - interval '1 day')",
            "list_batches(only_batch => 1)", "list_unable()", "paused_batches()", "list_holds()",
            "list_changes(null, 21)",
            "list_webhooks()", "list_deliveries(null, null, null, 21)", "list_audit(null, null, 41)", "list_filters()",
        ]
        .map { function in
            GuardedCall(name: function, rules: PlanGuard(rowLimit: 200)) { _, number in
                "select count(*) as call_\(number) from sluice.\(function)"
            }
        } + [
            // It counts what each worker holds. There are no more jobs than slots, and those claimed ahead.
            GuardedCall(name: "list_workers", rules: PlanGuard(scanned: ["running"])) { _, number in
                "select count(*) as call_\(number) from sluice.list_workers(now() - interval '1 day')"
            }
        ]
}
