extension JobLedger {
    /// How many jobs a change would be about, for people to see before they say yes: of all batches for operators, else of the
    /// caller's own.
    public func count(of change: JobChange, matching filter: JobFilter) async throws -> Int {
        try await countSteerable(filter.narrowed(to: change.states))
    }

    /// How many jobs that a filter finds are publishing, of those that the caller may change.
    public func countPublishing(matching filter: JobFilter) async throws -> Int {
        try await countSteerable(filter.narrowed(to: [.publishing]))
    }

    /// Changes all jobs that a filter finds, a chunk at a time, each in a transaction of its own, so that other sessions do not wait.
    ///
    /// `progress` is told after each chunk. What was done before an error stays.
    @discardableResult
    public func apply(
        _ change: JobChange,
        to filter: JobFilter,
        chunk: Int32 = 1_000,
        progress: (@Sendable (ChangeTally) -> Void)? = nil
    ) async throws -> ChangeTally {
        let json = try JSON(filter)
        var tally = ChangeTally()
        var cursor: JSON?
        repeat {
            let behind = cursor
            let done = try await settle(change.operation) { connection, mayHaveHappened in
                try connection.first(change.statement(schema, json, behind, chunk)) { row in
                    Chunk(
                        seen: try row["seen"],
                        changed: try row["changed"],
                        asked: try row["asked"],
                        publishing: try row["publishing"],
                        next: try row["next"],
                        isRepeated: mayHaveHappened
                    )
                }
            }
            guard let done else { break }
            tally.seen += done.seen
            tally.changed += done.changed
            tally.asked += done.asked
            tally.publishing += done.publishing
            tally.isLowerBound = tally.isLowerBound || done.isRepeated
            cursor = done.next
            progress?(tally)
        } while cursor != nil
        return tally
    }

    private struct Chunk: Sendable {
        var seen: Int
        var changed: Int
        var asked: Int
        var publishing: Int
        var next: JSON?
        var isRepeated: Bool
    }

    /// Gives nothing more of a queue out, or goes on; what runs is not touched. Throws `refused` if there is no such queue.
    public func setPaused(_ isPaused: Bool, queue: String) async throws {
        try await steer("pause a queue", "select \(schema).pause_queue(\(queue), \(isPaused))")
    }

    /// Lets at most `limit` jobs of a queue run at once; `nil` lifts the limit.
    public func setRunningLimit(_ limit: Int32?, queue: String) async throws {
        try await steer("limit a queue", "select \(schema).limit_queue(\(queue), \(limit))")
    }

    /// A queue's share beside others, or a submitter's share of a queue: 1 to 10000, from the next claim on.
    public func setWeight(_ weight: Int32, queue: String, submitter: String? = nil) async throws {
        guard let submitter else {
            return try await steer("weigh a queue", "select \(schema).weigh_queue(\(queue), \(weight))")
        }
        try await steer("weigh a submitter", "select \(schema).weigh_submitter(\(queue), \(submitter), \(weight))")
    }

    /// Asks a worker for something, which it hears at its next beat. False if it has ended.
    public func wish(_ wish: WorkerWish, of worker: Int64) async throws -> Bool {
        try await settle("ask a worker") { connection, _ in
            try connection.value("select \(schema).wish_worker(\(worker), \(wish))")
        }
    }

    private func steer(_ operation: String, _ statement: Statement) async throws {
        try await settle(operation) { connection, _ in _ = try connection.execute(statement) }
    }
}
