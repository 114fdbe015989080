/// A queue and the jobs in it.
public struct QueueSummary: Sendable, Hashable {
    public var name: String
    public var isPaused: Bool
    /// The most that may run at once; `nil` is as many as there are slots.
    public var runningLimit: Int?
    /// Its share beside other queues, in jobs yet to be submitted.
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

/// Jobs that wait and that no living worker can do.
public struct UnableLine: Sendable, Hashable {
    public var queue: String
    public var priority: Int
    public var needs: [String]
    /// Of the needs, those that no living worker has; empty if each is had by some worker, and all by none.
    public var missing: [String]
    /// One of the jobs.
    public var example: Int64

    init(_ row: Row) throws {
        queue = try row["queue"]
        priority = try row["priority"]
        needs = try row["needs"]
        missing = try row["missing"]
        example = try row["example"]
    }
}
