/// The size of a server's lock table, and how many locks a ledger may need.
///
/// All sessions share the table. It has `max_locks_per_transaction` entries for each connection and prepared
/// transaction. Once it is full, every session fails with "out of shared memory".
public struct LockTable: Sendable, Hashable {
    /// The server's setting. A change needs a restart of the server.
    public var locksPerTransaction: Int
    /// `max_connections` and `max_prepared_transactions`.
    public var sessions: Int
    /// The spans of the ledger. Each has three tables.
    public var spans: Int

    public init(locksPerTransaction: Int, sessions: Int, spans: Int) {
        (self.locksPerTransaction, self.sessions, self.spans) = (locksPerTransaction, sessions, spans)
    }

    public var places: Int { locksPerTransaction * sessions }

    /// With every connection in a call at the same time, and one session that locks the whole ledger: a dump, a
    /// migration or an analysis.
    public var needed: Int { sessions * Self.locksPerCall + spans * Self.relationsPerSpan }

    public var isEnough: Bool { needed <= places }

    /// The `max_locks_per_transaction` to set, in steps of 64.
    public var wantedLocksPerTransaction: Int {
        let least = (needed + max(1, sessions) - 1) / max(1, sessions)
        return (least + 63) / 64 * 64
    }

    // The most locks that a call usually holds; most calls hold half of that.
    private static let locksPerCall = 50
    // Tables and indexes, TOAST tables and their indexes included.
    private static let relationsPerSpan = 18
}
