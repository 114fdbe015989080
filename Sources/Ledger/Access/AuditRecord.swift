public import FoundationEssentials

/// A change that someone has made: an operation on jobs, queues, workers, tokens or tenants.
public struct AuditRecord: Sendable, Hashable {
    public var id: Int64
    public var at: Date
    /// When its last chunk was added. The same time for an operation of one call.
    public var endedAt: Date
    /// A login, or `token:NAME`.
    public var who: String
    public var tenant: String?
    /// The function of the ledger: `cancel_jobs`.
    public var what: String
    /// Its arguments, as a JSON object with sorted keys.
    public var details: String
    /// How many jobs, queues, workers or tokens have changed.
    public var affected: Int

    init(_ row: Row) throws {
        id = try row["id"]
        at = try row["at"]
        endedAt = try row["ended_at"]
        who = try row["who"]
        tenant = try row["tenant"]
        what = try row["what"]
        details = try (row["details"] as JSON).text
        affected = try row["affected"]
    }
}
