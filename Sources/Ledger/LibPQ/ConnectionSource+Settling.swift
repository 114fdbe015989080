extension ConnectionSource {
    /// Does what `body` says again and again until it is answered, `limit` is over, or trying is of no use.
    ///
    /// `body` is told whether an earlier try may have happened, and has to find out or to bear being repeated. An error
    /// says of all tries together whether one of them may have happened. The limit by default is the time to reach
    /// a server and one operation's time.
    nonisolated func settle<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        tryLimit: Duration? = nil,
        _ body: @Sendable (isolated Connection, _ mayHaveHappened: Bool) throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + (limit ?? configuration.reachTimeout + configuration.operationTimeout)
        let tryLimit = tryLimit ?? max(limit ?? .zero, configuration.operationTimeout)
        var backoff = Backoff(first: .milliseconds(10), longest: .seconds(2))
        var mayHaveHappened = false
        while true {
            do {
                let earlier = mayHaveHappened
                let left = max(deadline - .now, .milliseconds(1))
                return try await run(operation, within: min(tryLimit, left)) { try body($0, earlier) }
            } catch var error as LedgerError {
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened
                error.mayHaveHappened = mayHaveHappened
                let wait = backoff.next()
                // Looking for a server has had its time; only what may have happened is worth more.
                let isWorthMore = mayHaveHappened || ![.cannotReach, .exhausted].contains(error.code)
                guard error.isTransient, isWorthMore, .now + wait < deadline else { throw error }
                do {
                    try await pause(wait, operation)
                } catch var stop as LedgerError {
                    stop.mayHaveHappened = mayHaveHappened
                    throw stop
                }
            }
        }
    }
}
