public import FoundationEssentials

/// The ledger in PostgreSQL: jobs, attempts, leases and fences, over a connection pool.
///
/// Every call retries while the database is down, until its time limit, and then returns one definite answer, even
/// where the answer to a COMMIT was lost. An error with `mayHaveHappened` means that the time ran out before the
/// call could find out.
public struct JobLedger: Sendable {
    let source: ConnectionSource
    /// Notifications about new work that are not sent yet.
    let jobNotifier = JobNotifier()
    /// Submissions of one job that share calls.
    let singles: SingleSubmissions
    /// Reads of one job that share calls.
    let stories: SharedReads<JobStory>
    /// For submissions whose jobs arrive.
    let spoolSpace: SpoolSpace
    /// Whom this ledger's calls act for; `nil`: the login itself.
    public let principal: Principal?
    /// What each transaction begins with.
    let opening: TransactionOpening?

    /// Opens no connection yet. Throws `badConfiguration`.
    public init(_ configuration: LedgerConfiguration) throws {
        source = try ConnectionSource(configuration)
        singles = SingleSubmissions(connections: configuration.connectionLimit)
        stories = SharedReads(connections: configuration.connectionLimit)
        spoolSpace = SpoolSpace()
        (principal, opening) = (nil, nil)
    }

    /// The same ledger, for calls on behalf of `principal`.
    init(_ ledger: JobLedger, for principal: Principal) {
        (source, spoolSpace) = (ledger.source, ledger.spoolSpace)
        // What shares a call has one principal.
        singles = SingleSubmissions(connections: ledger.configuration.connectionLimit)
        stories = SharedReads(connections: ledger.configuration.connectionLimit)
        self.principal = principal
        opening = principal.opening
    }

    /// Where the ledger is, and the time limits for talking to it.
    public var configuration: LedgerConfiguration { source.configuration }

    /// Closes the connections. Pending and later calls throw `cancelled`.
    public func close() async { await source.close() }

    var schema: SchemaName { source.configuration.schema }

    /// Runs `body` until it has an answer or time is over: see `ConnectionSource.settle`.
    func settle<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        _ body: @Sendable (isolated Connection, _ mayHaveHappened: Bool) throws -> Result
    ) async throws -> Result {
        try await source.settle(operation, within: limit, opening: opening, body)
    }

    /// As `settle`, for what changes nothing: no error says that a change may have been made.
    func look<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        do {
            return try await settle(operation, within: limit) { connection, _ in try body(connection) }
        } catch var error as LedgerError {
            error.mayHaveHappened = false
            throw error
        }
    }

    /// The time on the ledger's clock. All decisions of the ledger use this clock.
    public func time() async throws -> Date {
        try await look("read the server's time") { connection in
            try connection.value("select \(schema).ledger_time()")
        }
    }
}
