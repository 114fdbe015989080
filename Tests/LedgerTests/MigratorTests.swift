import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

struct MigratorTests {
    private static let first = Migration(version: 1, name: "job", sql: "create table job (id bigint primary key);\n")
    private static let second = Migration(
        version: 2,
        name: "name",
        sql: "-- Jobs get names.\nalter table job add name text;\ninsert into job values (1, 'a');\n"
    )

    /// A configuration for a schema that does not exist yet.
    private func configuration(schema: String = PrivatePostgres.freshName(), url: String? = nil) throws
        -> LedgerConfiguration
    {
        var configuration = try LedgerConfiguration.patient(url: try url ?? PrivatePostgres.shared().url())
        configuration.schema = try SchemaName(schema)
        return configuration
    }

    private func value<Value: ColumnValue & Sendable>(_ configuration: LedgerConfiguration, _ statement: Statement)
        async throws
        -> Value
    {
        try await ConnectionSource(configuration).run("look") { try $0.value(statement) }
    }

    /// SHA-256 in hexadecimal digits, by an independent implementation.
    private func sha256(_ text: String) throws -> String {
        String(try Run.program("sha256sum", [], input: .data(Data(text.utf8))).checked().outputText.prefix(64))
    }

    @Test func migrationsAreAppliedInOrderAndRemembered() async throws {
        let configuration = try configuration()
        let schema = configuration.schema
        let one = try Migrator(configuration, migrations: [Self.first])
        #expect(try await one.run().applied == [Self.first])
        #expect(try await one.run().applied == [])
        let two = try Migrator(configuration, migrations: [Self.first, Self.second])
        let before = try await two.plan()
        #expect(before.version == 1)
        #expect(before.pending == [Self.second])
        #expect(try await failure { try await two.check() }.code == .ledgerSchemaTooOld)
        #expect(try await two.run().applied == [Self.second])
        try await two.check()
        let after = try await two.plan()
        #expect(after.pending.isEmpty)
        #expect(after.applied.map(\.name) == ["job", "name"])
        #expect(after.applied.map(\.appliedBy) == ["postgres", "postgres"])
        #expect(after.applied.allSatisfy { abs($0.appliedAt.timeIntervalSinceNow) < 60 })
        let texts = [Self.first.sql, Self.second.sql]
        #expect(try after.applied.map(\.checksum) == texts.map(sha256))
        let name: String = try await value(configuration, "select name from \(schema).job where id = 1")
        #expect(name == "a")
    }

    /// Every service reads the plan first, and must be able to start while the server restarts.
    @Test func aConnectionThatBreaksUnderThePlanIsReplaced() async throws {
        let name = PrivatePostgres.freshName()
        let configuration = try configuration(url: PrivatePostgres.shared().url() + "?application_name=\(name)")
        let migrator = try Migrator(configuration, migrations: [Self.first])
        _ = try await migrator.run()
        let schema = configuration.schema
        let holder = try ConnectionSource(.patient(url: PrivatePostgres.shared().url()))
        let plan = try await holder.run("hold the plan up") { connection in
            try connection.transaction {
                try connection.execute("lock table \(schema).migration in access exclusive mode")
                let plan = Task { try await migrator.plan() }
                var cut = 0
                while cut == 0 {
                    cut = try connection.value(
                        """
                        select count(pg_terminate_backend(pid, 300000)) from pg_stat_activity
                        where application_name = \(name) and wait_event_type = 'Lock'
                        """
                    )
                    // Within one transaction the statistics stay as they were at the first look. They send no event.
                    try connection.execute("select pg_stat_clear_snapshot(), pg_sleep(0.01)")
                }
                return plan
            }
        }
        #expect(try await plan.value.version == 1)
    }

    @Test func aPlanChangesNothing() async throws {
        let configuration = try configuration()
        let plan = try await Migrator(configuration, migrations: [Self.first, Self.second]).plan(to: 1)
        #expect(plan.version == 0)
        #expect(plan.pending == [Self.first])
        let exists: Bool = try await value(
            configuration,
            "select exists (select from pg_namespace where nspname = \(configuration.schema.text))"
        )
        #expect(!exists)
        let check = try await failure { try await Migrator(configuration, migrations: [Self.first]).check() }
        #expect(check.code == .ledgerMissing)
    }

    @Test func migrationsGoForwardOnlyAndNoFurtherThanTheyReach() async throws {
        let configuration = try configuration()
        let migrator = try Migrator(configuration, migrations: [Self.first, Self.second])
        #expect(try await migrator.run(to: 1).applied == [Self.first])
        #expect(try await failure { try await migrator.run(to: 3) }.code == .ledgerBadConfiguration)
        #expect(try await migrator.run(to: 2).applied == [Self.second])
        #expect(try await failure { try await migrator.run(to: 1) }.code == .ledgerBadConfiguration)
    }

    @Test func aChangedMigrationIsRefused() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration, migrations: [Self.first]).run()
        var text = Migration(version: 1, name: "job", sql: Self.first.sql + " ")
        for _ in 0..<2 {
            let migrator = try Migrator(configuration, migrations: [text, Self.second])
            #expect(try await failure { try await migrator.run() }.code == .ledgerMigrationChanged)
            #expect(try await failure { try await migrator.plan() }.code == .ledgerMigrationChanged)
            #expect(try await failure { try await migrator.check() }.code == .ledgerMigrationChanged)
            text = Migration(version: 1, name: "jobs", sql: Self.first.sql)
        }
        let applied: Int = try await value(configuration, "select count(*) from \(configuration.schema).migration")
        #expect(applied == 1)
    }

    @Test func aLedgerThatIsNewerThanTheBinaryIsRefused() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration, migrations: [Self.first, Self.second]).run()
        let old = try Migrator(configuration, migrations: [Self.first])
        #expect(try await failure { try await old.run() }.code == .ledgerSchemaTooNew)
        #expect(try await failure { try await old.check() }.code == .ledgerSchemaTooNew)
    }

    /// A later migration states the lowest version that may work with it, and one before it may demand more.
    @Test func aLedgerThatStaysCompatibleIsNotRefused() async throws {
        let configuration = try configuration()
        let text = "-- Why: more.\n-- Compatible from: 1\ncreate table c ();"
        let third = Migration(version: 3, name: "third", sql: text)
        #expect(third.compatibleFrom == 1 && Self.second.compatibleFrom == 2)
        let compatible = Migration(version: 2, name: "name", sql: "-- Compatible from: 1\n" + Self.second.sql)
        _ = try await Migrator(configuration, migrations: [Self.first, compatible, third]).run()
        let old = try Migrator(configuration, migrations: [Self.first])
        try await old.check()
        #expect(try await old.run().applied == [])
        let plan = try await old.plan()
        #expect(plan.version == 3 && plan.compatibleFrom == 1 && plan.pending.isEmpty)
        #expect(try await failure { try await old.run(to: 2) }.code == .ledgerBadConfiguration)

        let other = try self.configuration()
        _ = try await Migrator(other, migrations: [Self.first, Self.second, third]).run()
        let refused = try await failure { try await Migrator(other, migrations: [Self.first]).check() }
        #expect(refused.code == .ledgerSchemaTooNew)
        #expect(refused.detail.contains("at version 3") && refused.detail.contains("know version 2"))
    }

    @Test func aMigrationThatFailsLeavesNothing() async throws {
        let configuration = try configuration()
        let bad = Migration(
            version: 2,
            name: "bad",
            sql: "create table half (id bigint);\n\nselect ä, 1;\ncreate table never (id bigint);"
        )
        let migrator = try Migrator(configuration, migrations: [Self.first, bad])
        let error = try await failure { try await migrator.run() }
        #expect(error.code == .ledgerMigrationFailed)
        #expect(error.sqlState == "42703")
        #expect(error.detail.hasPrefix("0002_bad.sql: "))
        #expect(error.detail.hasSuffix("at line 3"))
        let plan = try await migrator.plan()
        #expect(plan.version == 1)
        let tables: [String] = try await ConnectionSource(configuration).run("look") { connection in
            try connection.rows(
                "select tablename from pg_tables where schemaname = \(configuration.schema.text) order by 1"
            ) { try $0[0] }
        }
        #expect(tables == ["job", "migration"])
    }

    @Test func aMigrationThatCommitsByItselfIsRefused() async throws {
        let configuration = try configuration()
        let bad = Migration(version: 1, name: "commits", sql: "create table t (); commit; select 1;")
        let error = try await failure { try await Migrator(configuration, migrations: [bad]).run() }
        #expect(error.code == .ledgerMigrationFailed)
        #expect(error.mayHaveHappened)
    }

    @Test func warningsOfAMigrationAreReportedAndNoticesAreNot() async throws {
        let text = """
            do $$ begin
                raise notice 'created';
                raise warning 'no role' using hint = 'create it';
            end $$;
            """
        let migrations = [
            Migration(version: 1, name: "warns", sql: text), Migration(version: 2, name: "is_quiet", sql: ""),
        ]
        let report = try await Migrator(try configuration(), migrations: migrations).run()
        #expect(report.applied == migrations)
        #expect(report.warnings == ["no role; create it"])
    }

    /// A worker may read the view of applied migrations, but not the table.
    @Test func aRoleWithTheViewAloneCanCheckTheSchema() async throws {
        let server = try PrivatePostgres.shared()
        let role = PrivatePostgres.freshName("worker")
        try server.run("create role \(role) login")
        let view = """
            create view applied_migration as select version, name, checksum, applied_at, applied_by from migration;
            grant select on applied_migration to \(role);
            do $$ begin execute format('grant usage on schema %I to \(role)', current_schema()); end $$;
            """
        let migrations = [Migration(version: 1, name: "view", sql: view)]
        var configuration = try configuration()
        let schema = configuration.schema
        _ = try await Migrator(configuration, migrations: migrations).run()
        configuration = try self.configuration(schema: schema.text, url: server.url(user: role))
        try await Migrator(configuration, migrations: migrations).check()
        let late = try Migrator(configuration, migrations: migrations + [Migration(version: 2, name: "more", sql: "")])
        #expect(try await failure { try await late.check() }.code == .ledgerSchemaTooOld)
    }

    @Test func severalMigratorsAtOnceApplyEachMigrationOnce() async throws {
        let lab = try await Lab()
        let (configuration, schema) = (lab.configuration, lab.schema)
        let gate = "select pg_advisory_xact_lock_shared(hashtext('\(schema)'));"
        let migrations =
            [Self.first, Self.second]
            + (3...8).map { Migration(version: $0, name: "more_\($0)", sql: "create table more_\($0) (); \(gate)") }
        let holder = try await Connection.open(configuration, until: .now + Lab.farTooLong)
        try await holder.run("close the gate", within: Lab.farTooLong) { holder in
            _ = try holder.execute("select pg_advisory_lock(hashtext(\(schema.text)))")
        }
        let done = try await withThrowingTaskGroup(of: [Migration].self) { group in
            for _ in 0..<8 { group.addTask { try await Migrator(configuration, migrations: migrations).run().applied } }
            // One of them is in the middle of a migration, and the others wait for its end or for their turn.
            try await lab.untilRunning("%", waitsFor: "advisory")
            try await lab.untilRunning("lock table %", waitsFor: "relation", sessions: 7)
            try await holder.run("open the gate", within: Lab.farTooLong) { holder in
                _ = try holder.execute("select pg_advisory_unlock_all()")
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(done.sorted { $0.version < $1.version } == migrations)
    }

    @Test func aMigrationDoesNotWaitLongForALock() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration, migrations: [Self.first]).run()
        let schema = configuration.schema
        let holder = try await Connection.open(configuration, until: .now + Lab.farTooLong)
        try await holder.run("hold", within: Lab.farTooLong) { try $0.script("select pg_advisory_lock(1)") }
        var migrator = try Migrator(configuration, migrations: [Self.first, Self.second])
        migrator.lockLimit = .milliseconds(50)
        migrator.tries = 2
        let reader = Task { [migrator] in
            try await holder.run("hold", within: Lab.farTooLong) { holder in
                try holder.transaction {
                    try holder.execute("lock table \(schema).job in access share mode")
                    // Hold the lock until the migrator has given up.
                    while try holder.value("select pg_try_advisory_lock_shared(hashtext('\(schema)'))") as Bool {
                        try holder.execute("select pg_advisory_unlock_shared(hashtext('\(schema)'))")
                    }
                }
            }
            return try await migrator.run().applied
        }
        let watcher = try await Connection.open(configuration, until: .now + Lab.farTooLong)
        // pg_locks sends no events. Each look is a round trip to the server.
        while try await !watcher.run(
            "watch",
            within: Lab.farTooLong,
            { watcher in
                try watcher.value(
                    "select exists (select from pg_locks where relation = '\(schema).job'::regclass and granted)",
                    as: Bool.self
                )
            }
        ) {}
        let error = try await failure { try await migrator.run() }
        #expect(error.code == .ledgerContention)
        #expect(error.detail.hasPrefix("0002_name.sql"))
        try await watcher.run("release", within: Lab.farTooLong) { watcher in
            _ = try watcher.execute("select pg_advisory_lock(hashtext('\(schema)'))")
        }
        #expect(try await reader.value == [Self.second])
    }

    /// `create schema if not exists` would need a right that the owner of the schema need not have.
    @Test func anOwnerOfTheSchemaNeedsNoRightOnTheDatabase() async throws {
        let server = try PrivatePostgres.shared()
        let role = PrivatePostgres.freshName("owner")
        let configuration = try configuration(url: server.url(user: role))
        try server.run("create role \(role) login; create schema \(configuration.schema) authorization \(role)")
        #expect(try await Migrator(configuration, migrations: [Self.first]).run().applied == [Self.first])
        var elsewhere = configuration
        elsewhere.schema = try SchemaName(PrivatePostgres.freshName())
        let error = try await failure { try await Migrator(elsewhere, migrations: [Self.first]).run() }
        #expect(error.code == .ledgerPermissionDenied)
    }

    @Test func migrationsAreAppliedThroughPgBouncer() async throws {
        let bouncer = try PrivatePostgresBouncer.start(before: .shared())
        let configuration = try configuration(url: bouncer.url())
        let migrations = [Self.first, Self.second]
        let done = try await withThrowingTaskGroup(of: [Migration].self) { group in
            for _ in 0..<4 { group.addTask { try await Migrator(configuration, migrations: migrations).run().applied } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(done.sorted { $0.version < $1.version } == migrations)
        let real = try self.configuration(url: bouncer.url())
        #expect(try await Migrator(real).run().applied == Migration.embedded)
    }

    @Test func theBinaryCarriesTheFilesOfTheRepository() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations")
        func files(in part: String) throws -> [String: String] {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: part).path)
                .filter { $0.hasSuffix(".sql") }
            return try Dictionary(
                uniqueKeysWithValues: names.map { name in
                    (name, try String(contentsOf: folder.appending(path: "\(part)/\(name)"), encoding: .utf8))
                }
            )
        }
        let steps = try files(in: "tables")
        #expect(Migration.embedded.map(\.description) == steps.keys.sorted())
        for migration in Migration.embedded { #expect(migration.sql == steps[migration.description]) }
        let functions = try files(in: "functions")
        let embedded = LedgerFunctions.current.files
        #expect(embedded.map { "\($0.name).sql" }.sorted() == functions.keys.sorted())
        #expect(embedded.last?.name == "grants")
        for file in embedded { #expect(file.sql == functions["\(file.name).sql"]) }
        let configuration = try configuration()
        #expect(try await Migrator(configuration).run().applied == Migration.embedded)
        try await Migrator(configuration).check()
    }
}
