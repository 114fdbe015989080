import Conversion

/// Where a ledger is, and the time limits for talking to it.
///
/// It may hold a password. No description of it shows the password.
public struct LedgerConfiguration: Sendable, Hashable {
    /// The schema that holds the ledger.
    public var schema = SchemaName.standard
    /// The size of a process's connection pool for its statements.
    public var connectionLimit = 4
    /// How long one host may take to accept a connection. `connect_timeout` in the address sets it too.
    public var connectTimeout: Duration = .seconds(5)
    /// How long to retry before the database counts as unreachable.
    public var reachTimeout: Duration = .seconds(30)
    /// The time limit of an operation that sets none.
    public var operationTimeout: Duration = .seconds(30)
    /// How long a cancelled statement may take to end before its connection is closed.
    var cancelGrace: Duration = .seconds(2)
    /// How often to look for work without a notification, on average.
    public var pollInterval: Duration = .seconds(2)
    /// Whether to listen for notifications where the server can send them.
    public var listens = true
    /// Where submissions are kept while their jobs arrive: `TMPDIR`, or the folder that every system has.
    var spoolFolder = "/var/tmp"
    /// The connection parameters, by libpq's keywords.
    private(set) var address: Address

    /// Reads a URL (or libpq's `host=... dbname=...`), and the `PG...` variables for what it leaves out.
    ///
    /// Neither is required. libpq's defaults fill what both leave out. Throws `badConfiguration`, without quoting
    /// the URL.
    public init(url: String? = nil, environment: [String: String] = [:]) throws {
        address = try Address(url: url, environment: environment)
        if let folder = environment["TMPDIR"], folder.hasPrefix("/") { spoolFolder = folder }
        if let given = try address.connectTimeout() { connectTimeout = given }
    }

    /// Throws `badConfiguration` with the field and the limit that it breaks.
    public func validate() throws {
        func require(_ isRight: Bool, _ rule: String) throws {
            guard isRight else { throw LedgerError(.ledgerBadConfiguration, during: "read the configuration", rule) }
        }
        try require((1...1_000).contains(connectionLimit), "connectionLimit must be 1 to 1000, not \(connectionLimit)")
        try require(connectTimeout > .zero, "connectTimeout must be more than 0, not \(connectTimeout)")
        try require(reachTimeout >= .zero, "reachTimeout must be at least 0, not \(reachTimeout)")
        try require(operationTimeout > .zero, "operationTimeout must be more than 0, not \(operationTimeout)")
        try require(pollInterval >= .milliseconds(10), "pollInterval must be at least 10 ms, not \(pollInterval)")
    }
}

extension LedgerConfiguration {
    /// The server and the database, without passwords: `postgresql://user@db1:5432,db2:5432/audio`.
    public var server: String { address.description }

    /// The names of the `PG...` variables in `environment` that set what `url` leaves out, sorted.
    public static func variables(fillingIn url: String?, from environment: [String: String]) throws -> [String] {
        try Address.variables(fillingIn: url, from: environment)
    }
}

extension LedgerConfiguration: CustomStringConvertible, CustomDebugStringConvertible {
    /// Where the ledger is, without passwords: `postgresql://user@db1:5432,db2:5432/audio, schema sluice`.
    public var description: String { "\(address), schema \(schema)" }
    public var debugDescription: String { description }
}
