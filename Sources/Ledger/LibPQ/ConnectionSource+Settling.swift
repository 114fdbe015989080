import Conversion
import System

extension ConnectionSource {
    /// Retries `body` until it has an answer, `limit` is over, or another try is useless.
    ///
    /// `mayHaveHappened` tells `body` that an earlier try may have taken effect. `body` then finds out, or is safe
    /// to repeat. A thrown error covers all tries together: it says whether any of them may have taken effect. The
    /// default limit is the time to reach a server plus one operation's time.
    nonisolated func settle<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        tryLimit: Duration? = nil,
        opening: TransactionOpening? = nil,
        _ body: @Sendable (isolated Connection, _ mayHaveHappened: Bool) throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + (limit ?? configuration.reachTimeout + configuration.operationTimeout)
        let tryLimit = tryLimit ?? max(limit ?? .zero, configuration.operationTimeout)
        var backoff = BackOff(first: .milliseconds(10), longest: .seconds(2))
        var mayHaveHappened = false
        while true {
            do {
                let earlier = mayHaveHappened
                let left = max(deadline - .now, .milliseconds(1))
                return try await run(operation, within: min(tryLimit, left), opening: opening) {
                    try body($0, earlier)
                }
            } catch var error as LedgerError {
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened
                error.mayHaveHappened = mayHaveHappened
                let wait = backoff.next()
                // A failed connect has already used its time. Only to learn what may have happened is it worth more.
                let isWorthMore = mayHaveHappened || ![.ledgerCannotReach, .ledgerExhausted].contains(error.code)
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
