import TestSupport
import Testing

@testable import Ledger

/// A schema of one test's own on a private server, and connections to it.
struct Lab {
    let server: PrivatePostgres
    let schema: SchemaName
    let configuration: LedgerConfiguration
    let source: ConnectionSource

    /// A fresh schema on `server`, by default the one that all tests share.
    init(on server: PrivatePostgres? = nil, _ change: (inout LedgerConfiguration) -> Void = { _ in }) async throws {
        let server = try server ?? .shared()
        let schema = try SchemaName(PrivatePostgres.freshName())
        // Known by its name in pg_stat_activity.
        var configuration = try LedgerConfiguration(url: server.url() + "?application_name=\(schema)")
        configuration.schema = schema
        // With patience, whatever the test is about to try without.
        let patient = try ConnectionSource(configuration)
        try await patient.run("prepare a test") { _ = try $0.execute("create schema \(schema)") }
        await patient.close()
        change(&configuration)
        self.server = server
        self.schema = schema
        self.configuration = configuration
        source = try ConnectionSource(configuration)
    }

    /// What ends in time ends long before this on any machine; what does not would last far longer.
    static let farTooLong = Duration.seconds(200)

    /// The name as it stands in plain SQL.
    var name: String { schema.text }

    @discardableResult
    func run<Result: Sendable>(_ body: @Sendable (isolated Connection) throws -> Result) async throws -> Result {
        try await source.run("test", body)
    }

    /// Looks until a server process of this lab's runs a statement that is like `pattern` and waits for `event`.
    func untilRunning(_ pattern: String, waitsFor event: String = "%") async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        let watcher = try ConnectionSource(try LedgerConfiguration(url: server.url()))
        while true {
            try #require(ContinuousClock.now < deadline, "no statement like \(pattern) ran in time")
            if try await watcher.run("watch", { try isRunning(pattern, event, on: $0) }) { break }
        }
        await watcher.close()
    }

    private func isRunning(_ pattern: String, _ event: String, on connection: isolated Connection) throws -> Bool {
        try connection.value(
            """
            select count(*) > 0 from pg_stat_activity
            where application_name = \(name) and state = 'active' and query like \(pattern)
                and coalesce(wait_event, '') like \(event) and pid <> pg_backend_pid()
            """
        )
    }
}

/// What `body` throws, which is to be a `LedgerError`.
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

/// What was to fail did not.
struct NoFailure: Error {}

extension Statement {
    /// This statement with plain SQL after it.
    func appending(_ text: String) -> Statement {
        var whole = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        whole.appendLiteral(sql + text)
        var statement = Statement(stringInterpolation: whole)
        statement.parameters = parameters
        return statement
    }
}
