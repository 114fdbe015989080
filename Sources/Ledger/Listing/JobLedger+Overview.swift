import Conversion
public import FoundationEssentials

extension JobLedger {
    /// A summary of the ledger.
    public func status() async throws -> LedgerStatus {
        try await look("read the status") { connection in try connection.status(schema) }
    }

    /// Jobs by queue and state, from folded counts.
    public func counts() async throws -> [String: JobCounts] {
        try await look("read the counts") { connection in
            var counts: [String: JobCounts] = [:]
            try connection.forEachRow("select * from \(schema).counts(true)") { row in
                counts[try row["queue"], default: JobCounts()][try row.value("state")] = try row["jobs"]
            }
            return counts
        }
    }

    /// What ended in each minute since `since`. The ledger keeps two days.
    public func paces(since: Date) async throws -> [MinuteThroughput] {
        try await list(
            "read the throughput",
            "select * from \(schema).paces(\(since))",
            MinuteThroughput.init(reading:)
        )
    }

    /// All queues, by name.
    public func queues() async throws -> [QueueSummary] {
        try await list("list queues", "select * from \(schema).list_queues()", QueueSummary.init(reading:))
    }

    /// Batches older than `batch`, from the newest on; `nil` starts at the newest.
    public func batches(before batch: Int64? = nil, limit: Int32 = 50) async throws -> [BatchSummary] {
        try await list(
            "list batches",
            "select * from \(schema).list_batches(\(batch), \(limit))",
            BatchSummary.init(reading:)
        )
    }

    /// The numbers of batches with a label, newest first, six at most.
    public func batches(labelled label: String) async throws -> [Int64] {
        try await list("find batches by label", "select batch from \(schema).find_batches(\(label))") { row -> Int64 in
            try row["batch"]
        }
    }

    /// The numbers of batches whose jobs wait in paused queues, newest first, 20 at most.
    package func pausedBatches() async throws -> [Int64] {
        try await list("find paused batches", "select batch from \(schema).paused_batches()") { row -> Int64 in
            try row["batch"]
        }
    }

    /// The number of the newest batch that this user submitted; `nil` if there is none.
    public func lastBatch() async throws -> Int64? {
        try await list("find the last batch", "select batch from \(schema).find_batches(null)") { row -> Int64 in
            try row["batch"]
        }.first
    }

    /// The batch of that number; `nil` if there is none.
    public func batch(_ batch: Int64) async throws -> BatchSummary? {
        try await list(
            "show a batch",
            "select * from \(schema).list_batches(only_batch => \(batch))",
            BatchSummary.init(reading:)
        ).first
    }

    /// Running workers, and those that ended since `endedSince`, by name.
    public func workers(endedSince: Date? = nil) async throws -> [WorkerSummary] {
        try await list(
            "list workers",
            "select * from \(schema).list_workers(\(endedSince))",
            WorkerSummary.init(listed:)
        )
    }

    /// Lanes with waiting jobs that no running worker can do.
    public func unableLanes() async throws -> [UnableLane] {
        try await list(
            "list jobs that no worker can do",
            "select * from \(schema).list_unable()",
            UnableLane.init(reading:)
        )
    }

    /// The state of each housekeeping chore, with its last error.
    public func chores() async throws -> [ChoreRecord] {
        try await list("list maintenance tasks", "select * from \(schema).list_chores()", ChoreRecord.init)
    }

    private func list<Value: Sendable>(
        _ operation: String,
        _ statement: Statement,
        _ read: @Sendable (Row) throws -> Value
    ) async throws -> [Value] {
        try await settle(operation) { connection, _ in try connection.rows(statement, read) }
    }
}

extension Connection {
    func status(_ schema: SchemaName) throws -> LedgerStatus {
        let status = try first("select * from \(schema).status()", LedgerStatus.init(summary:))
        guard let status else { throw failure(.ledgerUnexpectedAnswer, "the server returned no status") }
        return status
    }
}
