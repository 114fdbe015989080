import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A schema for one test on a private server, and a connection pool for it.
struct Lab {
    let server: PrivatePostgres
    let database: String
    let schema: SchemaName
    /// The `application_name` of its connections. Needs no quoting in SQL.
    let name: String
    let configuration: LedgerConfiguration
    let source: ConnectionSource

    /// Creates a schema on `server`, by default on the server that all tests share.
    init(on server: PrivatePostgres? = nil, _ change: (inout LedgerConfiguration) -> Void = { _ in }) async throws {
        let server = try server ?? .shared()
        let schema = try SchemaName(PrivatePostgres.freshName())
        // Prepare with long limits, whatever limits the test itself sets.
        let patient = try ConnectionSource(.patient(url: server.url()))
        try await patient.run("prepare a test") { _ = try $0.execute("create schema \(schema)") }
        await patient.close()
        try self.init(on: server, database: "postgres", schema: schema, name: schema.text, change)
    }

    /// Uses an existing schema.
    init(
        on server: PrivatePostgres,
        database: String,
        schema: SchemaName,
        name: String,
        _ change: (inout LedgerConfiguration) -> Void
    ) throws {
        var configuration = try LedgerConfiguration.patient(
            url: server.url(database: database) + "?application_name=\(name)"
        )
        configuration.schema = schema
        change(&configuration)
        (self.server, self.database, self.schema, self.name) = (server, database, schema, name)
        self.configuration = configuration
        source = try ConnectionSource(configuration)
    }

    /// A limit for waits. An operation that ends at all ends long before this on any machine, and one that hangs
    /// takes far longer.
    static let farTooLong = Duration.seconds(300)

    @discardableResult
    func run<Result: Sendable>(_ body: @Sendable (isolated Connection) throws -> Result) async throws -> Result {
        try await source.run("test", body)
    }

    /// Polls until `sessions` of this lab run a statement like `pattern` and wait for `event`.
    func untilRunning(_ pattern: String, waitsFor event: String = "%", sessions: Int = 1) async throws {
        try await until("a statement like \(pattern) runs") { try running(pattern, event, on: $0) >= sessions }
    }

    /// Returns when no session runs a statement like `pattern` that waits for `event`.
    func untilNoneRuns(_ pattern: String, waitsFor event: String) async throws {
        try await until("no statement like \(pattern) runs") { try running(pattern, event, on: $0) == 0 }
    }

    private func until(_ what: String, _ holds: @Sendable (isolated Connection) throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.farTooLong
        let watcher = try ConnectionSource(.patient(url: server.url()))
        // pg_stat_activity sends no events. Each look is a round trip to the server.
        while true {
            try #require(ContinuousClock.now < deadline, "not in time: \(what)")
            if try await watcher.run("watch", holds) { break }
        }
        await watcher.close()
    }

    private func running(_ pattern: String, _ event: String, on connection: isolated Connection) throws -> Int {
        try connection.value(
            """
            select count(*) from pg_stat_activity
            where application_name = \(name) and state = 'active' and query like \(pattern)
                and coalesce(wait_event, '') like \(event) and pid <> pg_backend_pid()
            """
        )
    }
}

extension LedgerConfiguration {
    /// A configuration for tests that are not about time. A machine that runs all tests at once may be slow without
    /// being broken.
    static func patient(url: String) throws -> LedgerConfiguration {
        var configuration = try LedgerConfiguration(url: url)
        configuration.connectTimeout = Lab.farTooLong
        configuration.reachTimeout = Lab.farTooLong
        configuration.operationTimeout = Lab.farTooLong
        configuration.cancelGrace = Lab.farTooLong
        return configuration
    }
}

/// Runs code that blocks on another program or a server on a separate thread. The tasks of all tests share as many
/// threads as there are cores, and none of these may block.
func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: body)) }
    }
}

/// The error of `body` under the first limit that lets it get as far as `isFar` demands. On a busy machine a short
/// limit may be over before the server has received anything.
func failureInTime<Result>(
    _ isFar: (LedgerError) -> Bool,
    _ location: SourceLocation = #_sourceLocation,
    of body: (_ limit: Duration) async throws -> Result
) async throws -> LedgerError {
    var limit = Duration.milliseconds(200)
    while true {
        let error = try await failure(location) { try await body(limit) }
        if isFar(error) || limit > Lab.farTooLong { return error }
        limit *= 2
    }
}

/// The `LedgerError` that `body` throws. Fails the test if it throws another error or none.
func failure<Result>(
    _ location: SourceLocation = #_sourceLocation,
    of body: () async throws -> Result
) async throws -> LedgerError {
    do {
        _ = try await body()
    } catch {
        return try #require(error as? LedgerError, "\(error)", sourceLocation: location)
    }
    throw NoFailure()
}

/// Thrown if an operation that must fail succeeds.
struct NoFailure: Error {}

extension Statement {
    /// This statement, followed by plain SQL.
    func appending(_ text: String) -> Statement {
        var whole = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        whole.appendLiteral(sql + text)
        var statement = Statement(stringInterpolation: whole)
        statement.parameters = parameters
        return statement
    }
}
