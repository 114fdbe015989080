import Conversion
import TestSupport
import Testing

@testable import Ledger

/// What logins of the database can hold up for all others. Their roles decide what they read and change: see `GrantTests`.
struct HostileLoginTests {
    static let roles = ["sluice_viewer", "sluice_submitter", "sluice_operator", "sluice_worker", "sluice_face"]

    private func open(_ lab: LedgerLab, as user: String) async throws -> Connection {
        let url = lab.lab.server.url(database: lab.lab.database, user: user)
        return try await Connection.open(lab.configuration(url), until: .now + Lab.farTooLong)
    }

    /// A submission, a claim and a round of housekeeping.
    private func work(_ lab: LedgerLab, _ worker: WorkerEntry) async throws {
        _ = try await lab.submit(2)
        #expect(try await lab.claim(2, for: worker).count == 2)
        let report = try await lab.keepWholeHouse()
        #expect(report.chores.allSatisfy { $0.error == nil }, "\(report)")
    }

    @Test func aLoginWithoutARoleMayNotConnect() async throws {
        let lab = try await LedgerLab(on: .shared())
        let name = PrivatePostgres.freshName("user")
        try lab.lab.server.run("create role \(name) login")
        let stranger = try lab.ledger(as: name)
        let error = try await failure { try await stranger.time() }
        #expect(error.code == .ledgerPermissionDenied && error.sqlState == "42501", "\(error)")
        #expect(error.hint?.contains("grant sluice_viewer to \(name)") == true)
        try lab.lab.server.run("grant sluice_viewer to \(name)")
        _ = try await stranger.time()
        await stranger.close()
    }

    @Test(arguments: roles)
    func noLoginTakesWhatAllShare(role: String) async throws {
        let lab = try await LedgerLab(on: .shared())
        let worker = try await lab.worker()
        try await work(lab, worker)
        let locks: [String] = try await lab.lab.run { [schema = lab.schema.text] connection in
            try connection.rows(
                """
                select relname::text from pg_class
                where relnamespace = \(schema)::regnamespace and relkind = 'r' and relname like 'lock\\_%'
                """
            ) { try $0[0] }
        }
        #expect(locks.count == 16)
        let schema = lab.schema.text
        var attacks: [String] = [
            "select pg_advisory_lock('\(schema).lock_job'::regclass::oid::integer, 0)",
            "select pg_advisory_lock_shared(1)", "select pg_advisory_xact_lock(1, 2)",
            "select pg_try_advisory_lock(i) from generate_series(1, 100000) i",
            "select pg_try_advisory_xact_lock_shared(i, 0) from generate_series(1, 100000) i",
            "begin; lock table \(schema).setting in access share mode",
            "begin; lock table \(schema).job in access exclusive mode",
            "select from \(schema).lane for key share", "select from \(schema).setting for update",
            "select \(schema).try_lock('lock_job')", "select \(schema).share_job_lock()",
            "create temporary table t (x integer)", "create temporary view v as select 1", "create schema s",
            "create table public.t (x integer)", "create table \(schema).t (x integer)",
            "select lo_create(0)", "select lo_creat(-1)", "select lo_from_bytea(0, 'x')",
            "select lo_import('/etc/passwd')",
            "copy \(schema).job to stdout", "copy (select 1) to program 'true'", "copy (select 1) to '/var/lib/x'",
            "set temp_file_limit = -1", "set deadlock_timeout = '1h'", "alter system set work_mem = '1GB'",
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
            "select pg_cancel_backend(pid) from pg_stat_activity where usename = 'postgres'",
            "create trigger t before insert on \(schema).job execute function \(schema).ledger_time()",
            "comment on table \(schema).lock_job is ''", "cluster \(schema).setting using setting_pkey",
            "reindex table \(schema).setting",
        ]
        attacks += locks.map { "begin; lock table \(schema).\($0) in row share mode" }
        let user = try GrantTests.user(role, on: lab.lab.server)
        let session = try await open(lab, as: user)
        for attack in attacks {
            let error = try await failure {
                try await session.run("attack", within: Lab.farTooLong) { try $0.script(attack, changes: false) }
            }
            #expect(error.sqlState == "42501", "\(attack): \(error)")
        }
        // The server has none. Where it has some, the doctor warns.
        let prepared = try await failure {
            try await session.run("attack", within: Lab.farTooLong) {
                try $0.script("begin; prepare transaction 'x'", changes: false)
            }
        }
        #expect(prepared.sqlState == "55000", "\(prepared)")
        await session.close()
        try await work(lab, worker)
    }

    /// Each login that can connect could take them: see `migrations/functions/locks.sql`.
    @Test func noFunctionWaitsForAnAdvisoryLock() async throws {
        let lab = try await LedgerLab()
        let found: [String] = try await lab.lab.run { [schema = lab.schema.text] connection in
            try connection.rows(
                "select proname::text from pg_proc where pronamespace = \(schema)::regnamespace and prosrc ~ 'advisory'"
            ) { try $0[0] }
        }
        #expect(found == [])
    }

    /// What a login may read, in a transaction that it never ends. Calls that change the ledger keep their locks until its end: see
    /// "What is not protected" in docs/security.md.
    @Test(arguments: roles)
    func noOpenTransactionThatReadsStopsTheLedger(role: String) async throws {
        let lab = try await LedgerLab(on: .shared())
        let worker = try await lab.worker()
        try await work(lab, worker)
        let user = try GrantTests.user(role, on: lab.lab.server)
        let schema = lab.schema.text
        var hold = [
            "declare c cursor for select generate_series(1, 1000000000)", "fetch 10 from c", "listen anything",
            "notify anything, 'nothing'", "select count(*) from pg_attribute",
            "select \(schema).ledger_time()",
        ]
        // Each of these shares locks that housekeeping takes alone.
        if GrantTests.functions[role]?.contains("list_failures") == true {
            hold += [
                "select count(*) from \(schema).find_jobs('{}'::jsonb)",
                "select count(*) from \(schema).list_failures()",
                "select count(*) from \(schema).status()",
            ]
        }
        let text = hold.joined(separator: "; ")
        let session = try await open(lab, as: user)
        let (isOpen, opened) = AsyncStream.makeStream(of: Void.self)
        let held = Task {
            try await session.run("hold", within: Lab.farTooLong) { connection in
                _ = try connection.script("begin isolation level repeatable read; \(text)", changes: false)
                opened.finish()
                _ = try connection.script("select pg_sleep(600)", changes: false)
            }
        }
        for await _ in isOpen {}
        try await work(lab, worker)
        try await lab.set("keep = '1 h'")
        try await lab.age(by: .seconds(7_200))
        // Dropping old jobs waits for the transaction briefly, gives way, and tries again in the next round.
        let report = try await lab.keepWholeHouse()
        #expect(report.chores.allSatisfy { $0.error == nil || $0.name == "drop_old" }, "\(report)")
        try await work(lab, try await lab.worker("next"))
        held.cancel()
        #expect(try await failure { try await held.value }.code == .cancelled)
        await session.close()
    }

    @Test func createdLoginsHaveLimits() async throws {
        let lab = try await LedgerLab(on: .shared())
        let (viewer, pump) = (PrivatePostgres.freshName("viewer"), PrivatePostgres.freshName("pump"))
        #expect(try await lab.ledger.createLogin(viewer, [.viewer], password: nil))
        #expect(try await lab.ledger.createLogin(pump, [.worker, .viewer], password: nil))
        for (login, statement) in [(viewer, "5min"), (pump, "1h")] {
            let session = try await open(lab, as: login)
            let limits: [String] = try await session.run("look", within: Lab.farTooLong) { connection in
                try [
                    "statement_timeout", "idle_in_transaction_session_timeout", "temp_file_limit",
                ].map { try connection.value("select current_setting(\($0))") }
            }
            #expect(limits == [statement, "5min", "4GB"])
            await session.close()
        }
        #expect(try await lab.ledger.openRights().unlimited.filter { [viewer, pump].contains($0) } == [])
        // What `logins create --print` prints is the same, without what needs a superuser.
        for roles in [[LoginRole.viewer], [.worker, .viewer]] {
            let made: [String] = try await lab.lab.run { [schema = lab.schema] connection in
                try connection.value("select \(schema).login_limits(\(roles.map(\.databaseRole)))")
            }
            #expect(Array(made.prefix(2)) == LoginRole.limits(of: roles))
        }
    }

    @Test func rightsThatAreOpenAreFound() async throws {
        let server = try await onOwnThread { try PrivatePostgres.start() }
        let lab = try await LedgerLab(on: server)
        let closed = try await lab.ledger.openRights()
        #expect(!closed.hasLogins && closed.isPublic.isEmpty && closed.strangers.isEmpty && closed.statements.isEmpty)
        let database = lab.lab.database
        try server.run("create role stranger login; grant connect, temporary on database \(database) to public")
        try server.run("create role ada login in role sluice_viewer")
        try server.run(
            "grant execute on function lo_create(oid), pg_advisory_lock(bigint) to public; grant create on schema public to public",
            database: database
        )
        let open = try await lab.ledger.openRights()
        #expect(open.isPublic == Set(OpenRights.Right.allCases))
        #expect(open.strangers == ["stranger"] && open.unlimited == ["ada"])
        #expect(open.database == database && open.owner == "sluice_owner" && open.statements.count == 6)
        // An administrator runs the statements. The owner keeps what its functions need: these jobs go through a temporary table.
        try server.run(open.statements.joined(separator: "; "), database: database)
        #expect(try await lab.ledger.openRights().isPublic.isEmpty)
        try await lab.submit(500)
        try server.run("grant connect on database \(database) to stranger")
        #expect(try await lab.ledger.openRights().strangers.isEmpty)
        // Another program's table: the step that makes a ledger leaves the database as it is.
        try server.run("create database shared")
        try server.run("create table others (x integer)", database: "shared")
        let shared = try LedgerConfiguration.patient(url: server.url(database: "shared"))
        _ = try await Migrator(shared).run()
        #expect(try await JobLedger(shared).openRights().isPublic.contains(.connect))
    }
}
