public import FoundationEssentials

/// What is known of one of housekeeping's chores. It is done in rounds, and a round in pages.
public struct ChoreRecord: Sendable, Hashable {
    public var name: String
    /// When it is due next; `nil` if it was never done.
    public var dueAt: Date?
    /// Since when a round is under way; `nil`: none is.
    public var startedAt: Date?
    /// When a round last came to its end; `nil`: never.
    public var finishedAt: Date?
    /// Pages of the round that is under way, or of the last one; with what they changed and how long they took.
    public var pages: Int
    public var affected: Int
    public var took: Duration?
    /// What is left to do, up to 100,000; `nil` where it is not known.
    public var remaining: Int?
    /// Why its last page failed.
    public var error: String?
    /// When it last failed.
    public var failedAt: Date?

    init(_ row: Row) throws {
        let due: Date = try row["due_at"]
        name = try row["chore"]
        dueAt = due == .distantPast ? nil : due
        startedAt = try row["began_at"]
        finishedAt = try row["done_at"]
        pages = try row["pages"]
        affected = try row["affected"]
        took = try (row["took_ms"] as Double?).map { .milliseconds($0) }
        remaining = try row["remaining"]
        error = try row["error"]
        failedAt = try row["error_at"]
    }
}
