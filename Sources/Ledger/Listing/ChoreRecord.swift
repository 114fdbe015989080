public import FoundationEssentials

/// The state of one housekeeping chore. Housekeeping does it in rounds, and a round in pages.
public struct ChoreRecord: Sendable, Hashable {
    public var name: String
    /// When it is due next; `nil` if it has never run.
    public var dueAt: Date?
    /// When the current round started; `nil` if none is under way.
    public var startedAt: Date?
    /// When the last round finished; `nil` if none has.
    public var finishedAt: Date?
    /// The pages of the current or last round. The next two say what these changed and how long they took.
    public var pages: Int
    public var affected: Int
    public var took: Duration?
    /// What is left to do, up to 100,000; `nil` where unknown.
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

/// The API shows what chore fails, and leaves the rest to `doctor`.
extension ChoreRecord: LedgerRecord, ListedRecord {
    package static let listName = "chores"
    package static var blank: ChoreRecord { ChoreRecord(name: "", error: nil) }

    package static let fields: [RecordField<ChoreRecord>] = [
        .always("chore", \.name, .text, "its name"),
        .maybe("error", \.error, .text, "why it failed last"),
    ]
}
