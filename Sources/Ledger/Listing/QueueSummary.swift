/// A queue and the jobs in it.
public struct QueueSummary: Sendable, Hashable {
    public var name: String
    public var isPaused: Bool
    /// The most jobs that may run at once; `nil` means no limit.
    public var runningLimit: Int?
    /// Its share relative to other queues.
    public var weight: Int
    public var jobs: JobCounts

    init(_ row: Row) throws {
        name = try row["queue"]
        isPaused = try row["paused"]
        runningLimit = try row["running_limit"]
        weight = try row["weight"]
        jobs = try JobCounts(row)
    }
}

/// A lane with waiting jobs that no running worker can do.
public struct UnableLane: Sendable, Hashable {
    public var queue: String
    public var priority: Int
    public var needs: [String]
    /// The needs that no running worker has. Empty if each is covered by some worker, but no single worker covers all.
    public var missing: [String]
    /// The number of one of the jobs.
    public var example: Int64

    init(_ row: Row) throws {
        queue = try row["queue"]
        priority = try row["priority"]
        needs = try row["needs"]
        missing = try row["missing"]
        example = try row["example"]
    }
}
