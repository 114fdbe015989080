import Synchronization
import System

/// The thread on which one root is checked. A check blocks for as long as the root's server is silent.
final class RootLine: Sendable {
    private struct State {
        var lastNumber = 0
        /// When each check was asked for that has not returned.
        var asked: [Int: ContinuousClock.Instant] = [:]
    }

    private let queue: BlockingQueue
    private let state = Mutex(State())
    /// Given when a check returns.
    private let returns = WakeSignal()

    init(_ name: String) { queue = BlockingQueue(name) }

    /// Runs a check, after those before it. `nil` if it does not return within `limit`, or if the task is cancelled.
    ///
    /// Adds no further check to one that has taken longer than the limit.
    func ask<Value: Sendable>(
        within limit: Duration = .seconds(31_536_000),
        _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        let deadline = ContinuousClock.now + limit
        let number = state.withLock { state -> Int? in
            if let first = state.asked.values.min(), first + limit < .now { return nil }
            state.lastNumber += 1
            state.asked[state.lastNumber] = .now
            return state.lastNumber
        }
        guard let number else { return nil }
        let answer = Answer<Value>()
        queue.start {
            let value = body()
            answer.value.withLock { $0 = value }
            self.state.withLock { _ = $0.asked.removeValue(forKey: number) }
            self.returns.send()
        }
        while .now < deadline, !Task.isCancelled {
            let seen = returns.count
            if let value = answer.value.withLock({ $0 }) { return value }
            await returns.wait(since: seen, until: deadline)
        }
        return answer.value.withLock { $0 }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
