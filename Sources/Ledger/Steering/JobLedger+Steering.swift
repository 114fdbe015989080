extension JobLedger {
    /// How many jobs a change would apply to, to show before it is confirmed. Operators may change all batches;
    /// other callers only their own.
    public func count(of change: JobChange, matching filter: JobFilter) async throws -> Int {
        try await countSteerable(filter.narrowed(to: change.states))
    }

    /// How many matching jobs are publishing, among those that the caller may change.
    public func countPublishing(matching filter: JobFilter) async throws -> Int {
        try await countSteerable(filter.narrowed(to: [.publishing]))
    }

    /// Changes all jobs that match a filter. Each chunk has its own transaction, so that other sessions do not wait.
    ///
    /// Calls `progress` after each chunk. Chunks done before an error stay.
    @discardableResult
    public func apply(
        _ change: JobChange,
        to filter: JobFilter,
        chunk: Int32 = 1_000,
        progress: (@Sendable (ChangeTally) -> Void)? = nil
    ) async throws -> ChangeTally {
        var tally = ChangeTally()
        var cursor: JobCursor?
        repeat {
            let (part, next) = try await applyPart(of: change, to: filter, after: cursor, chunk: chunk)
            tally.add(part)
            cursor = next
            progress?(tally)
        } while cursor != nil
        return tally
    }

    /// Changes the matching jobs of one chunk. `next` is where the following chunk begins; `nil` if this was the last.
    public func applyPart(
        of change: JobChange,
        to filter: JobFilter,
        after cursor: JobCursor?,
        chunk: Int32 = 1_000
    ) async throws -> (tally: ChangeTally, next: JobCursor?) {
        let json = try JSON(filter)
        let done = try await settle(change.operation) { connection, mayHaveHappened in
            try connection.first(change.statement(schema, json, cursor?.json, chunk)) { row in
                var tally = ChangeTally()
                tally.seen = try row["seen"]
                tally.changed = try row["changed"]
                tally.asked = try row["asked"]
                tally.publishing = try row["publishing"]
                tally.isLowerBound = mayHaveHappened
                return (tally, JobCursor(try row["next"] as JSON?))
            }
        }
        return done ?? (ChangeTally(), nil)
    }

    /// Pauses or resumes a queue. A paused queue starts no jobs; running ones continue. Throws `refused` if there
    /// is no such queue.
    public func setPaused(_ isPaused: Bool, queue: String) async throws {
        try await steer("pause a queue", "select \(schema).pause_queue(\(queue), \(isPaused))")
    }

    /// Lets at most `limit` jobs of a queue run at once; `nil` lifts the limit.
    public func setRunningLimit(_ limit: Int32?, queue: String) async throws {
        try await steer("limit a queue", "select \(schema).limit_queue(\(queue), \(limit))")
    }

    /// Sets a queue's share relative to other queues, or a submitter's share of a queue: 1 to 10000, from the next
    /// claim on.
    public func setWeight(_ weight: Int32, queue: String, submitter: String? = nil) async throws {
        guard let submitter else {
            return try await steer("set the weight of a queue", "select \(schema).weigh_queue(\(queue), \(weight))")
        }
        try await steer(
            "set the weight of a submitter",
            "select \(schema).weigh_submitter(\(queue), \(submitter), \(weight))"
        )
    }

    /// Sends a worker a wish, which it receives with its next beat. False if the worker has ended.
    public func wish(_ wish: WorkerWish, of worker: Int64) async throws -> Bool {
        try await settle("send a request to a worker") { connection, _ in
            try connection.value("select \(schema).wish_worker(\(worker), \(wish))")
        }
    }

    private func steer(_ operation: String, _ statement: Statement) async throws {
        try await settle(operation) { connection, _ in _ = try connection.execute(statement) }
    }
}
