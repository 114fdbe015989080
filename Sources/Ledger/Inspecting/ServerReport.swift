import Conversion
import FoundationEssentials

/// What a server reports about itself and about the current role, for diagnosis.
public struct ServerReport: Sendable, Hashable {
    /// `15.20`.
    public var version: String
    /// 150020.
    public var versionNumber: Int
    /// Whether the connection is encrypted.
    public var isEncrypted: Bool
    /// Whether the connection uses a Unix domain socket of this machine, where no network can be tapped.
    public var isLocal: Bool
    /// Whether a connection pooler stands between. Notifications do not pass a pooler.
    public var isPooled: Bool
    /// Whether the server is read-only: a standby, or configured so.
    public var isReadOnly: Bool
    public var user: String
    /// The ledger's roles whose rights the user has. Superusers have those of each. A member of `sluice_face` may take
    /// the roles of others, whose rights it does not have itself.
    public var roles: [String]
    public var isSuperuser: Bool
    /// Settings that decide whether committed data survives a crash: `fsync`, `full_page_writes`, `synchronous_commit`.
    public var durability: [String: String]
    public var maxConnections: Int
    public var usedConnections: Int
    public var maxPreparedTransactions: Int
    public var maxLocksPerTransaction: Int
    /// How far the server's clock is ahead of ours, give or take half of `clockDoubt`.
    public var clockLead: Duration
    public var clockDoubt: Duration
}

extension ServerReport {
    /// The server's lock table and a ledger's needs.
    public func lockTable(spans: Int) -> LockTable {
        LockTable(
            locksPerTransaction: maxLocksPerTransaction,
            sessions: maxConnections + maxPreparedTransactions,
            spans: spans
        )
    }
}

extension JobLedger {
    /// How many spans of partitions the ledger has.
    public func spanCount() async throws -> Int {
        try await look("count partitions") { connection in try connection.value("select \(schema).count_spans()") }
    }

    /// Inspects the server and the current role. Needs no schema, and only the right to connect.
    public func inspectServer() async throws -> ServerReport {
        try await look("inspect the server") { connection in
            let isDirect = try connection.isDirect()
            let sent = Date.now
            let clock: Date = try connection.value("select clock_timestamp()")
            let received = Date.now
            let middle = sent.addingTimeInterval(received.timeIntervalSince(sent) / 2)
            let report = try connection.first(
                """
                select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
                    coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
                    inet_server_addr() is null as local,
                    pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
                    current_user::text as user_name,
                    array(select rolname::text from pg_roles
                        where rolname like 'sluice\\_%' and pg_has_role(current_user, oid, 'usage') order by 1) as roles,
                    (select rolsuper from pg_roles where rolname = current_user) as superuser,
                    current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
                    current_setting('synchronous_commit') as synchronous_commit,
                    current_setting('max_connections')::int as max_connections,
                    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
                    current_setting('max_prepared_transactions')::int as max_prepared,
                    current_setting('max_locks_per_transaction')::int as max_locks
                """
            ) { row in
                ServerReport(
                    version: String((try row["version"] as String).prefix { $0 != " " }),
                    versionNumber: try row["number"],
                    isEncrypted: try row["encrypted"],
                    isLocal: try row["local"],
                    isPooled: !isDirect,
                    isReadOnly: try row["read_only"],
                    user: try row["user_name"],
                    roles: try row["roles"],
                    isSuperuser: try row["superuser"],
                    durability: [
                        "fsync": try row["fsync"], "full_page_writes": try row["full_page_writes"],
                        "synchronous_commit": try row["synchronous_commit"],
                    ],
                    maxConnections: try row["max_connections"],
                    usedConnections: try row["used"],
                    maxPreparedTransactions: try row["max_prepared"],
                    maxLocksPerTransaction: try row["max_locks"],
                    clockLead: .seconds(clock.timeIntervalSince(middle)),
                    clockDoubt: .seconds(received.timeIntervalSince(sent))
                )
            }
            guard let report else {
                throw connection.failure(.ledgerUnexpectedAnswer, "the server returned no report")
            }
            return report
        }
    }
}

extension Connection {
    /// The server's version of PostgreSQL: `15.20`.
    func serverVersion() throws -> String {
        let whole: String = try value("select current_setting('server_version')")
        // Debian appends its own number after a space.
        return String(whole.prefix { $0 != " " })
    }
}
