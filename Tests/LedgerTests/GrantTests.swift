import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The rights of each role, checked in the catalog and by trying.
struct GrantTests {
    static let looking: Set<String> = [
        "ledger_time", "batch_jobs", "counts", "demand", "status", "paces", "list_queues", "list_batches",
        "find_batches", "paused_batches",
        "list_workers", "find_jobs", "count_jobs", "count_containing", "list_jobs", "show_jobs", "list_attempts",
        "list_failures",
        "list_unable", "list_chores", "list_amendments", "list_outputs", "list_makers", "count_spans", "list_changes",
        "show_change", "list_holds", "show_tenant", "unsent_deliveries", "list_presets", "find_preset", "list_filters",
        "failure_hours",
    ]

    static let webhooks: Set<String> = [
        "create_webhook", "list_webhooks", "list_deliveries", "remove_webhook", "test_webhook", "retry_deliveries",
    ]

    /// For each role, the functions that it may call. Only the owner may touch a table.
    static let functions: [String: Set<String>] = [
        "sluice_worker": [
            "ledger_time", "register_worker", "claim", "bar_claims", "held", "beat", "publish", "finish", "fail",
            "release", "recall",
            "set_abilities", "stop_worker", "begin_tick", "do_chore", "shrink_chore", "take_unfinished",
            "standing_fences", "album_of", "record_track", "record_scan", "house_rest", "is_idle",
        ],
        "sluice_submitter": looking.union(webhooks).union([
            "stage_jobs", "submit", "submit_each", "tell_workers", "cancel_jobs", "retry_jobs", "prioritize_jobs",
            "accept_jobs",
            "find_batch", "find_earlier", "find_scans", "start_change", "wish_change", "step_change", "fail_change",
            "begin_upload", "end_upload", "cancel_upload", "add_notices", "save_filter", "remove_filter",
        ]),
        "sluice_operator": looking.union(webhooks).union([
            "cancel_jobs", "retry_jobs", "prioritize_jobs", "accept_jobs", "pause_queue", "limit_queue", "weigh_queue",
            "weigh_submitter", "wish_worker", "create_token", "list_tokens", "list_logins", "revoke_token",
            "create_tenant", "list_tenants", "list_audit", "limit_tenant", "ledger_metrics", "oldest_snapshot_age",
            "start_change", "wish_change", "step_change", "fail_change", "put_preset", "remove_preset",
            "save_filter", "remove_filter",
        ]),
        "sluice_viewer": looking.union(["ledger_metrics", "oldest_snapshot_age"]),
        "sluice_face": [
            "ledger_time", "begin_tick", "do_chore", "shrink_chore", "take_unfinished", "finish", "fail",
            "standing_fences", "find_tokens", "note_token_uses", "take_changes", "take_deliveries",
            "record_delivery", "house_rest", "has_webhooks",
        ],
    ]

    /// The views that every role may read.
    static let views: Set<String> = ["applied_migration"]

    /// Creates a user who is a member of `role`.
    static func user(_ role: String, on server: PrivatePostgres) throws -> String {
        let name = PrivatePostgres.freshName("user")
        try server.run("create role \(name) login in role \(role)")
        return name
    }

    /// All functions of the ledger, with arguments that are null.
    static func calls(in lab: LedgerLab) async throws -> [(name: String, arguments: String)] {
        let schema = lab.schema
        return try await lab.lab.run { connection in
            try connection.rows(
                """
                select proname::text, coalesce((
                    select string_agg(case when provariadic <> 0 and place = pronargs then 'variadic ' else '' end
                        || 'null::' || format_type(type, null), ', ' order by place)
                    from unnest(proargtypes) with ordinality as a (type, place)), '')
                from pg_proc where pronamespace = \(schema.text)::regnamespace and prokind = 'f'
                """
            ) { (try $0[0], try $0[1]) }
        }
    }

    @Test func theCatalogGrantsWhatIsWrittenHereAndNothingElse() async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema.text
        for (role, allowed) in Self.functions {
            let callable: [String] = try await lab.lab.run { connection in
                try connection.rows(
                    """
                    select distinct proname::text from pg_proc
                    where pronamespace = \(schema)::regnamespace and has_function_privilege(\(role), oid, 'execute')
                    """
                ) { try $0[0] }
            }
            #expect(Set(callable) == allowed, "\(role)")
            let touchable: [String] = try await lab.lab.run { connection in
                try connection.rows(
                    """
                    select relname || ' ' || verb from pg_class
                    cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) verb
                    where relnamespace = \(schema)::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
                        and has_table_privilege(\(role), oid, verb)
                    union all
                    select relname || ' sequence' from pg_class
                    where relnamespace = \(schema)::regnamespace and case relkind
                        when 'S' then has_sequence_privilege(\(role), oid, 'usage,select,update') end
                    union all
                    select relname || '.' || attname from pg_class join pg_attribute on attrelid = pg_class.oid
                    where relnamespace = \(schema)::regnamespace and attacl is not null
                    """
                ) { try $0[0] }
            }
            #expect(Set(touchable) == Set(Self.views.map { "\($0) select" }), "\(role)")
            let mayCreate: Bool = try await lab.value("select has_schema_privilege(\(role), \(schema), 'create')")
            #expect(!mayCreate)
        }
        let open: Int = try await lab.value(
            """
            select count(*) from pg_proc, aclexplode(proacl) where pronamespace = \(schema)::regnamespace and grantee = 0
            """
        )
        #expect(open == 0)
        let strangers: Int = try await lab.value(
            """
            select (select count(*) from pg_proc where pronamespace = \(schema)::regnamespace
                        and proowner <> 'sluice_owner'::regrole)
                 + (select count(*) from pg_class where relnamespace = \(schema)::regnamespace
                        and relowner <> 'sluice_owner'::regrole)
            """
        )
        #expect(strangers == 0)
    }

    /// Each change of a right writes the function's row once more, and there are hundreds.
    @Test func applyingChangesOnlyWhatDiffers() async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema
        let rights: Statement = """
            select string_agg(format('%s %s %s', p.proname, a.grantee, a.is_grantable), ',' order by p.oid, a.grantee)
            from pg_proc p cross join aclexplode(p.proacl) a where p.pronamespace = \(schema.text)::regnamespace
            """
        let rows: Statement = """
            select count(*) from pg_proc p where p.pronamespace = \(schema.text)::regnamespace
                and p.xmin = pg_current_xact_id()::xid
            """
        let before: String = try await lab.value(rights)
        let changes: [Int] = try await lab.lab.run { connection in
            try [
                "select 1", "grant execute on function \(schema).ledger_time() to public",
                "revoke execute on function \(schema).claim from sluice_worker",
                "grant update on \(schema).setting, \(schema).job to sluice_viewer",
                "grant usage on sequence \(schema).job_id to sluice_submitter",
                "grant select (recipe), update (cost) on \(schema).job to sluice_viewer, public",
                "grant execute on function \(schema).claim to sluice_worker with grant option",
            ].map { (other: Statement) in
                try connection.execute(other)
                return try connection.transaction {
                    try connection.execute("select \(schema).apply_permissions()")
                    return try connection.value(rows)
                }
            }
        }
        #expect(changes == [0, 1, 1, 0, 0, 0, 1])
        #expect(try await lab.value(rights) == before)
        let strange: Int = try await lab.value(
            """
            select (select count(*) from pg_class c cross join aclexplode(c.relacl) a
                    where c.relnamespace = \(schema.text)::regnamespace and a.grantee <> c.relowner and c.relkind <> 'v')
                + (select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid cross join aclexplode(a.attacl)
                    where c.relnamespace = \(schema.text)::regnamespace)
            """
        )
        #expect(strange == 0)
    }

    @Test(arguments: functions.keys.sorted())
    func tryingGivesWhatTheCatalogSays(role: String) async throws {
        let lab = try await LedgerLab()
        let schema = lab.schema
        try await lab.submit(1)
        let relations: [String] = try await lab.lab.run { connection in
            try connection.rows(
                """
                select relname::text from pg_class
                where relnamespace = \(schema.text)::regnamespace and relkind in ('r', 'p', 'v')
                """
            ) { try $0[0] }
        }
        let calls = try await Self.calls(in: lab)
        #expect(relations.count > 20 && calls.count > 40)
        let source = try lab.ledger(as: Self.user(role, on: lab.lab.server)).source

        /// Whether the user has the right, whatever else fails. Leaves no changes behind.
        func may(_ statement: String) async throws -> Bool {
            do {
                try await source.run("test") { connection in
                    try connection.script("begin", changes: false)
                    _ = try connection.script(statement, changes: false)
                }
                return true
            } catch let error as LedgerError {
                return error.sqlState != "42501"
            }
        }
        for relation in relations {
            #expect(try await may("select from \(schema).\(relation) limit 1") == Self.views.contains(relation))
            #expect(try await !may("delete from \(schema).\(relation)"), "\(relation)")
            #expect(try await !may("insert into \(schema).\(relation) default values"), "\(relation)")
        }
        let allowed = try #require(Self.functions[role])
        for call in calls {
            let isAllowed = try await may("select \(schema).\(call.name)(\(call.arguments))")
            #expect(isAllowed == allowed.contains(call.name), "\(role): \(call.name)")
        }
        #expect(try await !may("create table \(schema).mine (id int)"))
        #expect(try await !may("select nextval('\(schema).job_id')"))
    }

    @Test func eachRoleDoesItsOwnWorkAndIsRefusedThatOfOthers() async throws {
        let lab = try await LedgerLab()
        let server = lab.lab.server
        let submitter = try lab.ledger(as: Self.user("sluice_submitter", on: server))
        let worker = try lab.ledger(as: Self.user("sluice_worker", on: server))
        let viewer = try lab.ledger(as: Self.user("sluice_viewer", on: server))
        for ledger in [submitter, worker, viewer] { try await Migrator(ledger.configuration).check() }

        _ = try await submitter.submit(recipes: [LedgerLab.recipe("one")])
        // This uses COPY, into a table on which it has only the right to insert.
        let receipt = try await submitter.submit(Submission(key: "k"), LedgerLab.requests(500))
        #expect(try await submitter.submit(Submission(key: "k"), LedgerLab.requests(500)).isRepetition)
        let entry = try await worker.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1))
        let claims = try await worker.claim(501, for: entry.worker).jobs
        #expect(claims.count == 501)
        #expect(try await Heartbeat(worker.configuration).beat(entry.worker, [RunningJob(claims[0].fence)]).isAlive)
        #expect(try await worker.publish([LedgerLab.publication(claims[0].fence)]) == [.done])
        #expect(try await worker.finish([claims[0].fence]) == [.done])
        #expect(try await worker.fail([AttemptFailure(claims[1].fence, LedgerLab.failure(.permanent))]) == [.done])
        #expect(try await worker.release([claims[2].fence]) == [.done])
        #expect(try await worker.keepHouse().chores.allSatisfy { $0.error == nil })
        #expect(try await viewer.batch(receipt.batch)?.jobs.total == 500)
        #expect(try await viewer.jobs(matching: JobFilter(sourcePrefix: "in:one")).jobs.count == 1)
        #expect(try await viewer.status().jobs.completed == 1)
        #expect(try await submitter.apply(.retry, to: JobFilter()).changed == 1)

        for refused: @Sendable () async throws -> Void in [
            { _ = try await worker.submit(recipes: [LedgerLab.recipe("x")]) }, { _ = try await worker.status() },
            { _ = try await viewer.submit(recipes: [LedgerLab.recipe("x")]) },
            { try await viewer.apply(.cancel, to: JobFilter()) },
            { try await viewer.setPaused(true, queue: "default") },
            { try await submitter.setPaused(true, queue: "default") },
            { _ = try await submitter.wish(.drain, of: entry.worker) },
            { _ = try await viewer.claim(1, for: entry.worker) }, { _ = try await submitter.keepHouse() },
            { _ = try await submitter.register(WorkerRegistration(name: "w", host: "h", build: "1", slots: 1)) },
        ] {
            #expect(try await failure(of: refused).code == .ledgerPermissionDenied)
        }
    }

    @Test func anOwnerWhoIsNoAdministratorMigrates() async throws {
        let server = try PrivatePostgres.shared()
        // The roles exist once any test has migrated on this server.
        _ = try await LedgerLab()
        let owner = try Self.user("sluice_owner", on: server)
        let database = try server.createDatabase()
        try server.run("grant create on database \(database) to sluice_owner")
        var configuration = try LedgerConfiguration.patient(url: server.url(database: database, user: owner))
        configuration.schema = try SchemaName("audio")
        #expect(try await Migrator(configuration).run().applied.count == Migration.embedded.count)
        let ledger = try JobLedger(configuration)
        #expect(try await ledger.submit(recipes: [LedgerLab.recipe("one")]).jobCount == 1)
    }
}
