public import FoundationEssentials

/// What is known of one of housekeeping's chores.
public struct ChoreRecord: Sendable, Hashable {
    public var name: String
    /// When it is due next; `nil` if it was never done.
    public var dueAt: Date?
    public var took: Duration?
    /// Why it failed when it was last due.
    public var error: String?
    /// When it last failed.
    public var failedAt: Date?

    init(_ row: Row) throws {
        let due: Date = try row["due_at"]
        name = try row["chore"]
        dueAt = due == .distantPast ? nil : due
        took = try (row["took_ms"] as Double?).map { .milliseconds($0) }
        error = try row["error"]
        failedAt = try row["error_at"]
    }
}
