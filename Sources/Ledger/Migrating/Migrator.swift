import Conversion
import FoundationEssentials
import System

/// Migrates a ledger's schema to the version of this binary, or to an earlier one. Migrations never go back.
///
/// Steps change tables, types, indexes and data. Then the functions of this binary replace those of the ledger, if
/// they differ.
///
/// Any number of migrators may run at once: one of them applies each migration. All locks end with their
/// transaction, so this works through PgBouncer too.
public struct Migrator: Sendable {
    private var configuration: LedgerConfiguration
    private let migrations: [Migration]
    /// `nil`: the steps alone.
    private let functions: LedgerFunctions?
    /// How long to wait for another migrator.
    var turnLimit: Duration = .seconds(600)
    /// How long a migration waits for a lock. It then lets the sessions pass that queue behind it, and tries again.
    var lockLimit: Duration = .seconds(5)
    /// How long a service waits at its start before it says so. No server that takes longer to accept a connection would do
    /// for heartbeats.
    var firstWord: Duration = .seconds(5)
    /// How often a migration is tried while other sessions hold locks that it needs.
    var tries = 10

    /// The version of this binary.
    public static var version: Int { Migration.embedded.count }

    /// Throws `badConfiguration`.
    public init(_ configuration: LedgerConfiguration) throws {
        try self.init(configuration, migrations: Migration.embedded, functions: .current)
    }

    /// Takes the caller's own migrations, numbered from 1, and functions that belong to the last of them.
    init(_ configuration: LedgerConfiguration, migrations: [Migration], functions: LedgerFunctions? = nil) throws {
        try configuration.validate()
        precondition(migrations.map(\.version) == Array(1..<migrations.count + 1), "migrations are numbered from 1")
        self.configuration = configuration
        self.migrations = migrations
        self.functions = functions
    }

    /// What `run` would do. Changes nothing.
    ///
    /// Throws `schemaTooNew`, `migrationChanged`, or `badConfiguration` if `target` cannot be reached.
    public func plan(to target: Int? = nil) async throws -> MigrationPlan {
        let source = try ConnectionSource(configuration)
        let result: Result<MigrationPlan, any Error>
        do {
            // Every service starts with this query, so a connection that breaks meanwhile must not end the service.
            let plan = try await source.settle("compare the ledger's version") { connection, _ in
                try connection.transaction(.snapshot) {
                    try connection.migrationPlan(configuration.schema, migrations, functions, target)
                }
            }
            result = .success(plan)
        } catch {
            result = .failure(error)
        }
        await source.close()
        return try result.get()
    }

    /// Applies the pending migrations and the functions of this binary.
    ///
    /// Each migration that makes its own functions has a transaction, and all later ones share one with the functions.
    /// Migrations applied before a failure stay. Throws what `plan` throws, `migrationFailed`, `contention` if
    /// other sessions held locks for too long, or `badConfiguration` on an engine where no ledger works.
    public func run(to target: Int? = nil) async throws -> MigrationReport {
        var report = MigrationReport()
        var backoff = BackOff(first: .milliseconds(100), longest: .seconds(10))
        let connection = try await open()
        if let engine = try await connection.run("migrate", within: turnLimit, { try $0.foreignEngine() }) {
            guard !engine.isRefused else {
                await connection.close()
                throw engine.refusal
            }
            report.warnings.append("the database has \(engine.name): \(engine.reason)")
        }
        while true {
            do {
                guard let next = try await applyNext(on: connection, target) else { break }
                report.applied += next.applied
                report.replacedFunctions = report.replacedFunctions || next.replacedFunctions
                report.warnings += next.warnings
                backoff = BackOff(first: backoff.first, longest: backoff.longest)
            } catch let error as LedgerError where error.code == .ledgerContention && backoff.tries + 1 < tries {
                try await pause(backoff.next(), "migrate")
            }
        }
        await connection.close()
        return report
    }

    /// Throws `badConfiguration` on an engine where no ledger works. Changes nothing.
    public func checkEngine() async throws {
        let connection = try await open()
        let engine = try await connection.run("migrate", within: turnLimit) { try $0.foreignEngine() }
        await connection.close()
        if let engine, engine.isRefused { throw engine.refusal }
    }

    /// Throws `schemaTooOld`, `missing`, or what `plan` throws, unless the schema has the version that this binary
    /// needs.
    public func check() async throws {
        let plan = try await plan()
        guard plan.isEmpty else {
            throw LedgerError(
                plan.version == 0 ? .ledgerMissing : .ledgerSchemaTooOld,
                during: "check the schema",
                plan.version == 0
                    ? "the schema \(configuration.schema) contains no ledger"
                    : plan.pending.isEmpty
                        ? "the ledger is at version \(plan.version), with the functions of another build"
                        : "the ledger is at version \(plan.version); this sluice needs \(migrations.count)"
            )
        }
    }

    /// Like `check`, but waits up to `limit` for a server that says that it is starting, and up to the configured time to
    /// reach a server for one that refuses connections, as a server does before it listens. Calls `onWait` once if it
    /// waits, and again without an error when the wait is over.
    ///
    /// `goesOn` is asked before each further try; false ends the wait with the last error.
    public func check(
        waitingFor limit: Duration,
        while goesOn: @Sendable () -> Bool = { true },
        onWait: @Sendable (LedgerError?) -> Void
    ) async throws {
        let start = ContinuousClock.now
        var backoff = BackOff(first: .milliseconds(100), longest: .seconds(2))
        var (isWaiting, isStarting) = (false, false)
        // The first try is short, so that the caller hears early that there is a wait, and not only when it is over.
        var hasty = self
        hasty.configuration.reachTimeout = min(configuration.reachTimeout / 2, firstWord)
        while true {
            do {
                try await hasty.check()
                if isWaiting { onWait(nil) }
                return
            } catch let error as LedgerError where error.code == .ledgerCannotReach {
                isStarting = isStarting || error.isOfStartingServer
                if !isWaiting { onWait(error) }
                isWaiting = true
                hasty.configuration.reachTimeout = min(configuration.reachTimeout, firstWord)
                let longest = isStarting ? limit : min(limit, configuration.reachTimeout)
                guard .now - start < longest, goesOn() else { throw error }
                try await pause(backoff.next(), "check the schema")
            }
        }
    }

    /// The number of the ledger, and whether it can change; `nil` where there is no ledger yet. Only the ledger's
    /// owner may ask.
    public func number() async throws -> LedgerNumber? {
        let connection = try await open()
        let schema = configuration.schema
        let number = try await connection.run("read the ledger's number", within: turnLimit) { connection in
            try connection.transaction(.snapshot) { () -> LedgerNumber? in
                guard try connection.has("batch", in: schema) else { return nil }
                return try connection.first(
                    """
                    select ledger_number, not exists (select from \(schema).batch)
                        and not exists (select from \(schema).job) as is_free from \(schema).setting
                    """
                ) { LedgerNumber(value: try $0["ledger_number"], isFree: try $0["is_free"]) }
            }
        }
        await connection.close()
        return number
    }

    /// Gives the ledger a number. The ids of its new jobs and batches then carry it.
    ///
    /// Throws `refused` if the ledger holds jobs or batches under another number.
    public func setNumber(_ number: Int) async throws {
        let connection = try await open()
        let schema = configuration.schema
        _ = try await connection.run("set the ledger's number", within: turnLimit) { connection in
            try connection.transaction {
                try connection.setLocally("lock_timeout", lockLimit)
                try connection.execute(
                    "select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = \(schema.text)"
                )
                try connection.execute("select \(schema).number_ledger(\(Int32(clamping: number)))")
            }
        }
        await connection.close()
    }

    private func open() async throws -> Connection {
        try await Connection.open(configuration, for: "migrate", until: .now + configuration.reachTimeout)
    }

    /// Applies what the next transaction of the plan has; `nil` if nothing is left.
    private func applyNext(on connection: Connection, _ target: Int?) async throws -> MigrationReport? {
        let schema = configuration.schema
        let plan = try await connection.run("migrate", within: turnLimit) { connection in
            try connection.transaction(.snapshot) {
                try connection.migrationPlan(schema, migrations, functions, target)
            }
        }
        // With nothing pending, no lock and no right to change anything is needed.
        guard !plan.isEmpty else { return nil }
        // No limit that matters: a migration takes the time that it takes.
        return try await connection.run("migrate", within: .seconds(24 * 3_600)) { connection in
            try connection.transaction {
                try connection.takeMigratorsTurn(schema, limit: turnLimit, lockLimit: lockLimit)
                let plan = try connection.migrationPlan(schema, migrations, functions, target)
                guard !plan.isEmpty else { return nil }
                var report = MigrationReport()
                report.applied = plan.nextSteps(functions)
                for step in report.applied { try connection.apply(step, schema) }
                if plan.replacesFunctions, report.applied.count == plan.pending.count, let functions {
                    try connection.replaceFunctions(functions, schema)
                    report.replacedFunctions = true
                }
                let lowest = report.applied.map(\.compatibleFrom).max() ?? 0
                if lowest > plan.compatibleFrom { try connection.endWorkers(schema) }
                report.warnings = connection.takeWarnings()
                return report
            }
        }
    }
}

extension Connection {
    /// Waits until no other transaction migrates this schema, and puts the schema first on the search path.
    ///
    /// Only the owner can lock the table of applied migrations. An advisory lock could be held by any login.
    fileprivate func takeMigratorsTurn(_ schema: SchemaName, limit: Duration, lockLimit: Duration) throws {
        try setLocally("lock_timeout", limit)
        try setLocally("statement_timeout", .zero)
        do {
            try createRecord(schema)
        } catch var error as LedgerError where ["23505", "42P06", "42P07"].contains(error.sqlState) {
            // Another transaction has created it meanwhile.
            error.code = .ledgerContention
            throw error
        }
        try execute("lock table \(schema).migration in exclusive mode")
        try setLocally("lock_timeout", lockLimit)
        try execute("set local search_path = \(schema), pg_temp")
    }

    /// Creates the schema and its table of applied migrations where missing.
    private func createRecord(_ schema: SchemaName) throws {
        // `create schema if not exists` needs the right to create a schema even where it exists.
        let exists: Bool = try value("select exists (select from pg_namespace where nspname = \(schema.text))")
        if !exists { try execute("create schema \(schema)") }
        if try !has("migration", in: schema) {
            try execute(
                """
                create table \(schema).migration (
                    version    integer primary key check (version > 0),
                    name       text not null,
                    checksum   text not null,
                    compatible_from integer not null check (compatible_from between 1 and version),
                    applied_at timestamptz not null default clock_timestamp(),
                    applied_by text not null default session_user
                )
                """
            )
            try execute(
                "comment on table \(schema).migration is 'The steps by which this schema was made, kept by sluice migrate.'"
            )
        }
    }

    fileprivate func setLocally(_ setting: String, _ duration: Duration) throws {
        let milliseconds = String(Int(duration / .milliseconds(1)))
        try execute("select set_config(\(setting), \(milliseconds), true)")
    }

    /// Whether the schema has a table or view of that name.
    fileprivate func has(_ name: String, in schema: SchemaName) throws -> Bool {
        try value(
            """
            select exists (
                select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
                where nspname = \(schema.text) and relname = \(name)
            )
            """
        )
    }

    /// The migrations that this ledger has recorded, and those of `known` still to apply up to `target`.
    fileprivate func migrationPlan(
        _ schema: SchemaName,
        _ known: [Migration],
        _ functions: LedgerFunctions?,
        _ target: Int?
    ) throws -> MigrationPlan {
        guard try has("migration", in: schema) else {
            return try MigrationPlan(remembered: [], known: known, functions: functions, target: target)
        }
        // Workers and other roles read the view; only its owner can read the table.
        let memory = try has("applied_migration", in: schema) ? "applied_migration" : "migration"
        let remembered = try rows(
            """
            select version, name, checksum, applied_at, applied_by, encode(sha256(known.text), 'hex') as checksum_here,
                -- Ledgers from before the first release have no such column.
                coalesce((to_jsonb(memory) ->> 'compatible_from')::integer, version) as compatible_from,
                -- Version 24 added it.
                to_jsonb(memory) ->> 'functions' as functions
            from \(schema).\(name: memory) memory
            left join unnest(\(known.map(\.version)), \(known.map { Data($0.sql.utf8) })) as known(version, text)
                using (version)
            order by version
            """
        ) { row in
            MigrationPlan.Remembered(
                applied: AppliedMigration(
                    version: try row["version"],
                    name: try row["name"],
                    checksum: try row["checksum"],
                    compatibleFrom: try row["compatible_from"],
                    appliedAt: try row["applied_at"],
                    appliedBy: try row["applied_by"]
                ),
                checksumHere: try row["checksum_here"],
                functions: try row["functions"]
            )
        }
        return try MigrationPlan(remembered: remembered, known: known, functions: functions, target: target)
    }

    /// Applies one migration in the open transaction, and records it.
    fileprivate func apply(_ migration: Migration, _ schema: SchemaName) throws {
        let transaction: String = try value("select pg_current_xact_id()::text")
        do {
            try script(migration.sql, changes: false)
        } catch {
            throw failedMigration("\(migration)", error)
        }
        guard try value("select pg_current_xact_id()::text") == transaction else {
            throw LedgerError(
                .ledgerMigrationFailed,
                during: operation,
                "\(migration) ended its own transaction, so a part of it may have been applied",
                hint: "remove commit and rollback from the migration",
                mayHaveHappened: true
            )
        }
        let text = Data(migration.sql.utf8)
        try execute(
            """
            insert into \(schema).migration (version, name, checksum, compatible_from)
            values (\(Int32(migration.version)), \(migration.name), encode(sha256(\(text)), 'hex'),
                \(Int32(migration.compatibleFrom)))
            """
        )
    }

    /// The error of a file that could not be applied, with the file's name.
    func failedMigration(_ file: String, _ error: any Error) -> any Error {
        guard var error = error as? LedgerError else { return error }
        error.detail = "\(file): \(error.detail)"
        switch error.code {
        case .ledgerBadStatement, .ledgerConflict, .ledgerRefused, .ledgerMissing:
            error.code = .ledgerMigrationFailed
        default: break
        }
        return error
    }

    /// Ends all workers and hands back their jobs, because some of the workers cannot work with the ledger any more.
    /// Each learns when it registers again whether it is one of them.
    fileprivate func endWorkers(_ schema: SchemaName) throws {
        guard try has("worker", in: schema) else { return }
        try execute(
            "select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = \(schema.text)"
        )
        let workers: [Int64] = try rows("select id from \(schema).worker where ended_at is null") { try $0[0] }
        guard !workers.isEmpty else { return }
        try execute("select \(schema).end_workers(\(workers), 'stopped', \(schema).ledger_time())")
    }
}
