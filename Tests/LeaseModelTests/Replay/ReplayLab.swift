import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A migrated ledger whose clock, server and chance a replay determines.
///
/// Its functions are those of the migrations, except for these replacements:
///
/// - `ledger_time()` returns the time of the call in the trace, and `do_chore` measures durations by it.
/// - `begin_tick` reads the start of the server from the trace.
/// - A retry comes after the whole delay, of which the ledger otherwise draws a random share.
/// - The ids of leases and the secrets of workers are the model's numbers.
/// - Jobs and workers are numbered without gaps. A replica that lacks some gives out their numbers again.
/// - Claims take waiting jobs by their numbers. The model knows nothing of fair turns.
/// - Chores are due at every tick, and a lost worker never counts against a job.
struct ReplayLab {
    private let source: ConnectionSource
    private static let schema = SchemaName.standard

    /// Creates a ledger on the server that all tests share.
    init() async throws {
        source = try Self.connections(to: await Self.createDatabase(copying: Self.template.value))
    }

    private static func createDatabase(copying template: String) async throws -> String {
        let name = PrivatePostgres.freshName("replay")
        let source = try connections(to: "postgres")
        try await source.run("create a database") { connection in
            _ = try connection.script("create database \(name) template \(template)")
        }
        await source.close()
        return name
    }

    private static func connections(to database: String) throws -> ConnectionSource {
        var configuration = try LedgerConfiguration(url: PrivatePostgres.shared().url(database: database))
        // A machine that runs all tests at once may be slow without being broken.
        configuration.connectTimeout = .seconds(300)
        configuration.reachTimeout = .seconds(300)
        configuration.operationTimeout = .seconds(900)
        return try ConnectionSource(configuration)
    }

    /// A database that is copied for each test.
    private static let template = Task {
        let server = try PrivatePostgres.shared()
        let name = try await createDatabase(copying: "template1")
        _ = try await Migrator(LedgerConfiguration(url: server.url(database: name))).run()
        let source = try connections(to: name)
        try await source.run("prepare a replay") { connection in
            try connection.script("set search_path = \(schema.text), pg_temp")
            for text in [preparation, state, calls] { try connection.script(text) }
            try connection.change("begin_tick", "pg_postmaster_start_time()", to: "replayed_server_start()")
            try connection.change("do_chore", "clock_timestamp()", to: "ledger_time()")
            try connection.change("end_attempts", "random()", to: "1.0")
            try connection.change("claim", "gen_random_uuid()", to: "replayed_lease()")
        }
        await source.close()
        return name
    }

    /// Replays the traces of seeds until one of them differs.
    func replay(_ seeds: some Sequence<UInt64> & Sendable, in weather: Weather) async throws -> ReplayReport {
        try await run { connection in
            var report = ReplayReport()
            for seed in seeds {
                let entries = Run(seed: seed, in: weather).ledgerTrace().entries
                report.difference = try Self.difference(in: entries, of: seed, weather, on: connection)
                report.add(entries)
                if report.difference != nil { break }
                if report.seeds % 8 == 0 { try connection.script("vacuum \(Self.vacuumed)") }
            }
            return report
        }
    }

    /// Replays a trace of a seed, or its beginning, and describes the first difference.
    func difference(
        in entries: [LedgerTrace.Entry],
        of seed: UInt64,
        _ weather: Weather,
        without missing: GuardInSQL? = nil
    ) async throws -> String? {
        try await run { connection in
            try Self.difference(in: entries, of: seed, weather, without: missing, on: connection)
        }
    }

    private func run<Result: Sendable>(
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await source.run("replay", within: .seconds(900)) { connection in
            try connection.script("set search_path = \(Self.schema.text), pg_temp")
            // Planning anew for each argument would take most of the time.
            try connection.script("set plan_cache_mode = force_generic_plan")
            return try body(connection)
        }
    }

    /// The whole trace is one transaction, which is rolled back: each trace finds an empty ledger with all guards.
    private static func difference(
        in entries: [LedgerTrace.Entry],
        of seed: UInt64,
        _ weather: Weather,
        without missing: GuardInSQL? = nil,
        on connection: isolated Connection
    ) throws -> String? {
        try connection.script("begin")
        // It fails only after an error that is already thrown, or on a broken connection, which the next call finds.
        defer { _ = try? connection.script("rollback") }
        if let missing { try connection.change(missing.function, missing.piece, to: missing.without) }
        return try Replay(entries).firstDifference(on: connection).map {
            "seed \(seed), weather \(weather), \($0)\n\(command(seed))"
        }
    }

    private static func command(_ seed: UInt64) -> String {
        "alone: SLUICE_SEED=\(seed) swift test --filter sqlFunctionsAnswerAsTheModelDoes"
    }

    /// The tables that rolled back transactions fill with dead rows.
    private static let vacuumed = """
        waiting, delayed, running, publishing, finished, attempt, job, batch, worker, house, chore, flow, opened, \
        count_delta, failure_delta, delayed_floor
        """
}

extension Connection {
    /// Changes the text of a function of the migrations. Throws if the function lacks the piece.
    fileprivate func change(_ function: String, _ piece: String, to other: String) throws {
        let text: String = try value("select pg_get_functiondef(\(function)::text::regproc)")
        guard text.contains(piece) else { throw SupportError("change \(function)", "it does not contain: \(piece)") }
        try script(text.replacingOccurrences(of: piece, with: other))
    }
}
