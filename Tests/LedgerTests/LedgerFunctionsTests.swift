import Conversion
import Foundation
import Hashing
import TestSupport
import Testing

@testable import Ledger

/// Steps change tables, and functions have their current text: how the migrator brings both to a ledger.
struct LedgerFunctionsTests {
    /// The steps of release 0.1.0, which made their own functions.
    private static let released = Array(Migration.embedded.prefix(23))

    /// An empty database, and a ledger in it.
    private func configuration() throws -> LedgerConfiguration {
        let server = try PrivatePostgres.shared()
        return try .patient(url: server.url(database: try server.createDatabase()))
    }

    private func run<Result: Sendable>(
        _ configuration: LedgerConfiguration,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await ConnectionSource(configuration).run("test", body)
    }

    /// All that the catalog says of a ledger.
    private func catalog(_ configuration: LedgerConfiguration) async throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Upgrade/catalog.sql")
        let query = try String(contentsOf: file, encoding: .utf8)
        return try await run(configuration) { connection in
            try connection.transaction {
                try connection.execute("set local search_path = \(configuration.schema)")
                return try connection.rows(Statement(stringLiteral: query)) { try $0[0] }
            }
        }
    }

    /// The functions and the transactions that wrote them.
    private func versions(_ configuration: LedgerConfiguration) async throws -> [String] {
        try await run(configuration) { connection in
            try connection.rows(
                """
                select p.oid || ' ' || p.xmin || ' ' || proname from pg_proc p join pg_namespace n on n.oid = pronamespace
                where nspname = \(configuration.schema.text) order by p.oid
                """
            ) { try $0[0] }
        }
    }

    // MARK: - One result

    @Test func anUpgradedLedgerIsAsANewOne() async throws {
        let (fresh, upgraded) = (try configuration(), try configuration())
        let report = try await Migrator(fresh).run()
        #expect(report.applied == Migration.embedded && report.replacedFunctions)
        let made = try await catalog(fresh)
        #expect(made.count > 900)

        _ = try await Migrator(upgraded, migrations: Self.released).run()
        _ = try await run(upgraded) { connection in
            // Rows in most tables, as 0.1.0 writes them.
            try connection.script(
                """
                set search_path = sluice, pg_temp;
                select submit('[{"recipe": {"version": 1, "sources": [{"location": "in:a"}], "outputs": [{"location": "out:a"}]}},
                                {"recipe": {"version": 1, "sources": [{"location": "in:b"}]}, "needs": ["codec:flac"]}]',
                              batch_name => 'old');
                do $$
                declare w record;
                begin
                    select * into w from register_worker('w', 'h', '0.1.0', 2, '{recipe:1,codec:flac}');
                    perform claim(w.worker, w.secret, 1);
                end $$;
                reset search_path
                """
            )
        }
        #expect(try await Migrator(upgraded).run().applied == Array(Migration.embedded.dropFirst(23)))
        try await Migrator(upgraded).check()
        let (had, lacks) = (Set(try await catalog(upgraded)), Set(made))
        for fact in had.symmetricDifference(lacks).sorted() {
            Issue.record("\(had.contains(fact) ? "only upgraded" : "only new"): \(fact)")
        }
        // The worker of 0.1.0 goes on: its job runs, and the other waits.
        let states: String = try await run(upgraded) { connection in
            try connection.value(
                """
                select (select count(*) from sluice.running) || ' ' || (select count(*) from sluice.waiting) || ' '
                    || (select count(*) from sluice.worker where ended_at is null)
                    || (select string_agg(' ' || codec, '' order by codec) from sluice.lane)
                """
            )
        }
        #expect(states == "1 1 1 flac none")
    }

    /// What a release has, no later change may touch.
    @Test func theStepsOfTheReleaseAreAsItHasThem() {
        let text = Self.released.map { "\($0)\n\($0.sql)" }.joined()
        let digest = SHA256Hash.digest(of: Array(text.utf8)).map { String($0, radix: 16) }.joined()
        #expect(digest == "bc33674378d062c8cc204fadc03fca8027c6a676c76ff781c6a985edf96f278a")
    }

    @Test func functionsThatAreAppliedTwiceChangeNothing() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration).run()
        let (made, before) = (try await catalog(configuration), try await versions(configuration))
        #expect(try await Migrator(configuration).run() == MigrationReport())
        #expect(try await versions(configuration) == before)

        try await run(configuration) { _ = try $0.execute("update sluice.migration set functions = null") }
        let check = try await failure { try await Migrator(configuration).check() }
        #expect(check.code == .ledgerSchemaTooOld && check.detail.hasSuffix("with the functions of another build"))
        let report = try await Migrator(configuration).run()
        #expect(report.applied.isEmpty && report.replacedFunctions)
        #expect(try await catalog(configuration) == made)
        // Each keeps its identity, so that calls in progress find it.
        func names(_ versions: [String]) -> [String] {
            versions.map { $0.split(separator: " ") }.map { "\($0[0]) \($0[2])" }
        }
        #expect(try await names(versions(configuration)) == names(before))
        try await Migrator(configuration).check()
    }

    /// jobs_of() is written by a trigger; the others stand in the catalog's dependencies.
    @Test func functionsOnWhichTablesDependStayWithTheSteps() async throws {
        let lab = try await LedgerLab()
        let found: [String] = try await lab.lab.run { connection in
            try connection.rows(
                """
                with recursive used as (
                    select d.refobjid as id from pg_depend d
                    where d.refclassid = 'pg_proc'::regclass and d.classid in (
                        'pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_class'::regclass)
                    union
                    select d.refobjid from used u join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = u.id
                        and d.refclassid = 'pg_proc'::regclass
                )
                select distinct p.proname::text from used u join pg_proc p on p.oid = u.id
                where p.pronamespace = \(lab.schema.text)::regnamespace
                """
            ) { try $0[0] }
        }
        #expect(Set(found).union(["jobs_of"]) == LedgerFunctions.current.ofTables)
        let names = Set(LedgerFunctions.current.files.flatMap(\.pieces).map(\.name))
        #expect(names.isDisjoint(with: LedgerFunctions.current.ofTables))
    }

    /// A ledger of a build between the releases has other steps from 24 on.
    @Test(arguments: [24, 43])
    func aLedgerOfAnUnreleasedBuildIsRefusedWithTheReason(version: Int) async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration, migrations: Self.released).run()
        try await run(configuration) { connection in
            _ = try connection.execute(
                """
                insert into sluice.migration (version, name, checksum, compatible_from)
                select v, 'step_' || v, 'x', 23 from generate_series(24, \(version)) v
                """
            )
        }
        for call: @Sendable (Migrator) async throws -> Void in [{ _ = try await $0.run() }, { try await $0.check() }] {
            let error = try await failure { try await call(Migrator(configuration)) }
            #expect(error.code == .ledgerMigrationChanged)
            #expect(error.detail.hasPrefix("0024_release_0_2.sql differs from step_24, which postgres applied"))
            #expect(error.hint?.contains("unreleased build") == true)
        }
    }

    // MARK: - Changes of functions

    private static let step = Migration(
        version: 1,
        name: "first",
        sql: """
            create function kept() returns integer language sql return 1;
            create table t (a integer default kept());
            alter table migration add column functions text;
            create function gone() returns integer language sql return 1;
            """
    )

    private static func functions(_ texts: String..., since: Int = 1) -> LedgerFunctions {
        let files = texts.enumerated().map { LedgerFunctions.File(name: "f\($0.offset)", sql: $0.element) }
        return LedgerFunctions(files: files, ofTables: ["kept"], since: since)
    }

    private static func making(_ name: String) -> String {
        "create or replace function \(name)() returns integer language sql return 1;"
    }

    private func definitions(_ configuration: LedgerConfiguration) async throws -> [String] {
        try await run(configuration) { connection in
            try connection.rows(
                """
                select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') ' || pg_get_function_result(p.oid)
                from pg_proc p where pronamespace = 'sluice'::regnamespace
                union all
                select c.relname || ' ' || string_agg(a.attname, ',' order by attnum) from pg_class c
                join pg_attribute a on a.attrelid = c.oid and attnum > 0
                where relnamespace = 'sluice'::regnamespace and relkind = 'v' group by c.relname order by 1
                """
            ) { try $0[0] }
        }
    }

    @Test func whatChangedItsArgumentsOrResultIsReplacedAndWhatIsGoneIsDropped() async throws {
        let configuration = try configuration()
        let first = Self.functions(
            """
            -- Each calls one of a later file, which plpgsql looks up when it runs.
            create or replace function arguments(a integer) returns integer language plpgsql as $$ begin return later(); end $$;
            create or replace function result() returns integer language plpgsql as $$ begin return 1; end $$;
            -- Two with one name.
            create or replace function twins(a integer) returns integer language sql return 1;
            create or replace function twins(a text) returns integer language sql return 1;
            create or replace view seen as select 1 as a, 2 as b;
            create or replace view unseen as select 1 as a;
            """,
            "create or replace function later() returns integer language sql as $$ select 1 $$;"
        )
        #expect(try await Migrator(configuration, migrations: [Self.step], functions: first).run().replacedFunctions)
        #expect(
            try await definitions(configuration) == [
                "arguments(a integer) integer", "kept() integer", "later() integer", "result() integer", "seen a,b",
                "twins(a integer) integer", "twins(a text) integer", "unseen a",
            ]
        )
        let second = Self.functions(
            """
            create or replace function arguments(a integer, b text) returns integer language sql return 1;
            create or replace function result() returns text language plpgsql as $$ begin return 'a'; end $$;
            create or replace function twins(a integer) returns integer language sql return 2;
            create or replace function twins(a text) returns text language sql return 'b';
            create or replace view seen as select 1 as a;
            """
        )
        let migrator = try Migrator(configuration, migrations: [Self.step], functions: second)
        #expect(try await migrator.plan().replacesFunctions)
        #expect(try await migrator.run().replacedFunctions)
        #expect(
            try await definitions(configuration) == [
                "arguments(a integer, b text) integer", "kept() integer", "result() text", "seen a",
                "twins(a integer) integer", "twins(a text) text",
            ]
        )
        try await migrator.check()
    }

    @Test func functionsThatCannotBeMadeLeaveTheLedgerAsItWas() async throws {
        let configuration = try configuration()
        let good = Self.functions(Self.making("a"))
        _ = try await Migrator(configuration, migrations: [Self.step], functions: good).run()
        let before = try await versions(configuration)
        let more = Migration(version: 2, name: "more", sql: "create table more ();")
        let bad = Self.functions(
            "create or replace function a() returns text language sql return 'a';",
            "create or replace function b() returns nothing language sql return 1;"
        )
        let error = try await failure {
            try await Migrator(configuration, migrations: [Self.step, more], functions: bad).run()
        }
        #expect(error.code == .ledgerMigrationFailed && error.detail.hasPrefix("functions/f1.sql: "))
        #expect(try await versions(configuration) == before)
        try await Migrator(configuration, migrations: [Self.step], functions: good).check()
        // Steps and functions go together, so none of the steps alone can be asked for.
        let third = Migration(version: 3, name: "third", sql: "")
        let part = try await failure {
            try await Migrator(configuration, migrations: [Self.step, more, third], functions: good).run(to: 2)
        }
        #expect(part.code == .ledgerBadConfiguration)
    }

    @Test func anOlderBinaryNeverRestoresOlderFunctions() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration).run()
        let next = Migration(version: Migrator.version + 1, name: "next", sql: "-- Compatible from: 23\n")
        let marked = LedgerFunctions(
            files: LedgerFunctions.embedded + [.init(name: "marked", sql: Self.making("marked"))],
            ofTables: LedgerFunctions.current.ofTables,
            since: 24
        )
        let newer = try Migrator(configuration, migrations: Migration.embedded + [next], functions: marked)
        let report = try await newer.run()
        #expect(report.applied == [next] && report.replacedFunctions)
        let before = try await versions(configuration)
        #expect(before.contains { $0.hasSuffix(" marked") })
        let older = try Migrator(configuration)
        #expect(try await !older.plan().replacesFunctions)
        #expect(try await older.run() == MigrationReport())
        try await older.check()
        #expect(try await versions(configuration) == before)
        try await newer.check()
    }

    /// So the rule above holds for releases: a number stands for one digest.
    @Test func functionsThatChangedAfterAReleaseHaveANewNumber() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/releases")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(!lines.isEmpty)
        for line in lines {
            let words = line.split(separator: " ")
            let ledger = try #require(Int(words[1]))
            // 0.1.0 kept its functions in its steps.
            guard ledger >= LedgerFunctions.current.since else { continue }
            let digest = try #require(
                words.count > 3 ? String(words[3]) : nil,
                "\(words[0]) has no digest of its functions"
            )
            #expect(
                Migrator.version > ledger || LedgerFunctions.current.digest == digest,
                "the functions are not those of \(words[0]): add a step that says \"-- Compatible from: \(ledger)\""
            )
        }
    }

    // MARK: - Migrators at once, and killed ones

    @Test func severalMigratorsAtOnceReplaceTheFunctionsOnce() async throws {
        let configuration = try configuration()
        _ = try await Migrator(configuration, migrations: Self.released).run()
        let reports = try await withThrowingTaskGroup(of: MigrationReport.self) { group in
            for _ in 0..<4 { group.addTask { try await Migrator(configuration).run() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reports.flatMap(\.applied).map(\.version) == [24])
        #expect(reports.count { $0.replacedFunctions } == 1)
        try await Migrator(configuration).check()
    }

    @Test func aMigratorThatIsKilledLeavesTheLedgerAsItWas() async throws {
        let server = try PrivatePostgres.shared()
        let name = PrivatePostgres.freshName()
        let database = try server.createDatabase()
        let configuration = try LedgerConfiguration.patient(url: server.url(database: database))
        _ = try await Migrator(configuration, migrations: Self.released).run()
        let before = try await versions(configuration)
        let made = try await catalog(configuration)

        // All functions are made when the last file waits.
        let gate = LedgerFunctions.File(
            name: "zz_gate",
            sql: Self.making("gate") + "\nselect pg_advisory_xact_lock(4711);"
        )
        let gated = LedgerFunctions(
            files: LedgerFunctions.embedded + [gate],
            ofTables: LedgerFunctions.current.ofTables,
            since: 24
        )
        let named = try LedgerConfiguration.patient(url: server.url(database: database) + "?application_name=\(name)")
        var migrator = try Migrator(named, migrations: Migration.embedded, functions: gated)
        migrator.lockLimit = Lab.farTooLong
        let holder = try await Connection.open(configuration, until: .now + Lab.farTooLong)
        try await holder.run("hold", within: Lab.farTooLong) { _ = try $0.execute("select pg_advisory_lock(4711)") }
        let running = Task { [migrator] in try await migrator.run() }
        try await holder.run("kill", within: Lab.farTooLong) { holder in
            var killed = 0
            // pg_stat_activity sends no events. Each look is a round trip to the server.
            while killed == 0 {
                killed = try holder.value(
                    """
                    select count(pg_terminate_backend(pid, 300000)) from pg_stat_activity
                    where application_name = \(name) and wait_event = 'advisory'
                    """
                )
            }
        }
        await #expect(throws: LedgerError.self) { try await running.value }
        #expect(try await versions(configuration) == before)
        #expect(try await catalog(configuration) == made)
        #expect(try await Migrator(configuration).run().replacedFunctions)
        try await Migrator(configuration).check()
    }
}
