/// A queue and the jobs in it.
public struct QueueSummary: Sendable, Hashable {
    public var name = ""
    public var isPaused = false
    /// The most jobs that may run at once; `nil` means no limit.
    public var runningLimit: Int?
    /// Its share relative to other queues.
    public var weight = 0
    public var jobs = JobCounts()

    package init() {}
}

extension QueueSummary: LedgerRecord, ListedRecord {
    package static let listName = "queues"
    package static var blank: QueueSummary { QueueSummary() }

    package static let fields: [RecordField<QueueSummary>] = [
        .always("queue", \.name, .text, "its name"),
        .always("isPaused", \.isPaused, .truth, "whether claims leave its jobs", column: "paused"),
        .maybe("runningLimit", \.runningLimit, .count, "the most jobs that run at once"),
        .always("weight", \.weight, .chosen(in: LedgerRules.weights), "its share relative to other queues"),
        .always("jobs", \.jobs, .counts, "how many jobs are in each state"),
    ]
}

/// A lane with waiting jobs that no running worker can do.
public struct UnableLane: Sendable, Hashable {
    public var queue = ""
    public var priority = 0
    public var needs: [String] = []
    /// The needs that no running worker has. Empty if each is covered by some worker, but no single worker covers all.
    public var missing: [String] = []
    /// The number of one of the jobs.
    public var example: Int64 = 0

    package init() {}
}

extension UnableLane: LedgerRecord, ListedRecord {
    package static let listName = "unable"
    package static var blank: UnableLane { UnableLane() }

    package static let fields: [RecordField<UnableLane>] = [
        .always("queue", \.queue, .text, "the queue of the jobs"),
        .always("priority", \.priority, .chosen(in: LedgerRules.priorities), "their priority"),
        .always("needs", \.needs, .texts, "their requirements: what a worker must be able to do"),
        .always(
            "missing",
            \.missing,
            .texts,
            "requirements that no running worker meets; empty if no worker meets all of them"
        ),
        .always("example", \.example, .id, "one of the jobs"),
    ]
}
