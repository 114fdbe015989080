/// How many relations a server's sessions can have locked at one time, beside what a ledger may come to lock.
///
/// The table is shared: it has `max_locks_per_transaction` places for each connection and prepared transaction, and once all are taken
/// every session fails with "out of shared memory".
public struct LockTable: Sendable, Hashable {
    /// The server's setting. To change it the server has to be started anew.
    public var locksPerTransaction: Int
    /// `max_connections` and `max_prepared_transactions`.
    public var sessions: Int
    /// The spans of the ledger. Each has three tables.
    public var spans: Int

    public init(locksPerTransaction: Int, sessions: Int, spans: Int) {
        (self.locksPerTransaction, self.sessions, self.spans) = (locksPerTransaction, sessions, spans)
    }

    public var places: Int { locksPerTransaction * sessions }

    /// With all connections in calls at the same time, and one that goes over the whole ledger: a dump, a migration, an analysis.
    public var needed: Int { sessions * Self.locksPerCall + spans * Self.relationsPerSpan }

    public var isEnough: Bool { needed <= places }

    /// The `max_locks_per_transaction` to set, in steps of 64.
    public var wantedLocksPerTransaction: Int {
        let least = (needed + max(1, sessions) - 1) / max(1, sessions)
        return (least + 63) / 64 * 64
    }

    /// What a call holds at most, as a rule: most hold half of it.
    private static let locksPerCall = 50
    /// Tables, indexes, and tables and indexes of long values.
    private static let relationsPerSpan = 18
}
