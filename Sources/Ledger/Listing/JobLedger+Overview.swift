public import FoundationEssentials

extension JobLedger {
    /// Everything in a few numbers.
    public func status() async throws -> LedgerStatus {
        try await settle("read the status") { connection, _ in
            let status = try connection.first("select * from \(schema).status()", LedgerStatus.init)
            guard let status else { throw connection.failure(.unexpectedAnswer, "the ledger has no status") }
            return status
        }
    }

    /// Jobs by queue and state, from folded counts.
    public func counts() async throws -> [String: JobCounts] {
        try await settle("read the counts") { connection, _ in
            var counts: [String: JobCounts] = [:]
            try connection.forEachRow("select * from \(schema).counts()") { row in
                counts[try row["queue"], default: JobCounts()][try row.value("state")] = try row["jobs"]
            }
            return counts
        }
    }

    /// What ended in each minute since then; two days are kept.
    public func paces(since: Date) async throws -> [MinutePace] {
        try await list("read the pace", "select * from \(schema).paces(\(since))", MinutePace.init)
    }

    /// All queues, by name.
    public func queues() async throws -> [QueueSummary] {
        try await list("list queues", "select * from \(schema).list_queues()", QueueSummary.init)
    }

    /// Batches from the newest on, from before `batch`.
    public func batches(before batch: Int64? = nil, limit: Int32 = 50) async throws -> [BatchSummary] {
        try await list("list batches", "select * from \(schema).list_batches(\(batch), \(limit))", BatchSummary.init)
    }

    /// A batch; `nil` if there is none of that number.
    public func batch(_ batch: Int64) async throws -> BatchSummary? {
        try await list(
            "show a batch",
            "select * from \(schema).list_batches(only_batch => \(batch))",
            BatchSummary.init
        ).first
    }

    /// Workers that live, and those that ended since then, by name.
    public func workers(endedSince: Date? = nil) async throws -> [WorkerSummary] {
        try await list("list workers", "select * from \(schema).list_workers(\(endedSince))", WorkerSummary.init)
    }

    /// Lines in which jobs wait that no living worker can do.
    public func unableLines() async throws -> [UnableLine] {
        try await list("list what nobody can do", "select * from \(schema).list_unable()", UnableLine.init)
    }

    /// What housekeeping did last, and what it could not do.
    public func chores() async throws -> [ChoreRecord] {
        try await list("list chores", "select * from \(schema).list_chores()", ChoreRecord.init)
    }

    private func list<Value: Sendable>(
        _ operation: String,
        _ statement: Statement,
        _ read: @Sendable (Row) throws -> Value
    ) async throws -> [Value] {
        try await settle(operation) { connection, _ in try connection.rows(statement, read) }
    }
}
