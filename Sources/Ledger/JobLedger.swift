public import FoundationEssentials

/// What was promised and what happened: a ledger in PostgreSQL and some connections to it.
///
/// Every call goes on trying while the database is away, until its time is over, and then has one definite answer: also
/// where the answer to a COMMIT was lost. An error with `mayHaveHappened` says that there was no time left to find out.
public struct JobLedger: Sendable {
    let source: ConnectionSource
    /// What workers have not been told yet.
    let news = WorkNews()

    /// Opens no connection yet. Throws `badConfiguration`.
    public init(_ configuration: LedgerConfiguration) throws {
        source = try ConnectionSource(configuration)
    }

    /// Where the ledger is and how patiently it is spoken to.
    public var configuration: LedgerConfiguration { source.configuration }

    /// Closes the connections. Who waits for one, or comes later, gets `cancelled`.
    public func close() async { await source.close() }

    var schema: SchemaName { source.configuration.schema }

    /// Does what `body` says until that has an answer, or time is over: see `ConnectionSource.settle`.
    func settle<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        _ body: @Sendable (isolated Connection, _ mayHaveHappened: Bool) throws -> Result
    ) async throws -> Result {
        try await source.settle(operation, within: limit, body)
    }

    /// The ledger's clock, the only one that decides.
    public func time() async throws -> Date {
        try await settle("ask for the time") { connection, _ in
            try connection.value("select \(schema).ledger_time()")
        }
    }
}
