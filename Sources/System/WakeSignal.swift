import Synchronization

/// A signal that tasks wait for. A task that reads `count` before it checks the state misses no signal.
package final class WakeSignal: Sendable {
    private struct State {
        var count: UInt64 = 0
        var lastNumber: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of signals so far. Read it before checking the state that the signal is about.
    package var count: UInt64 { state.withLock { $0.count } }

    package func send() {
        let woken = state.withLock { state in
            state.count &+= 1
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for one in woken { one.resume() }
    }

    /// Returns when the signal was given since `seen`, or the task is cancelled.
    package func wait(since seen: UInt64) async { await wait(since: seen, limit: nil) }

    /// Like `wait(since:)`, but returns at `deadline` at the latest. Others that wait go on waiting.
    package func wait(since seen: UInt64, until deadline: ContinuousClock.Instant) async {
        await wait(since: seen, limit: deadline)
    }

    private func wait(since seen: UInt64, limit: ContinuousClock.Instant?) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        var timer: Task<Void, Never>?
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    // If the task was cancelled before, the handler found no continuation to resume.
                    if state.count != seen || Task.isCancelled { return true }
                    if let limit, limit <= .now { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isLate {
                    continuation.resume()
                } else if let limit {
                    // Begins only now, so that its end finds the continuation.
                    timer = timeout(of: number, at: limit)
                }
            }
        } onCancel: {
            end(number)
        }
        timer?.cancel()
    }

    private func timeout(of number: UInt64, at end: ContinuousClock.Instant) -> Task<Void, Never> {
        Task {
            // Throws only when the wait is over.
            do { try await Task.sleep(until: end, clock: .continuous) } catch { return }
            self.end(number)
        }
    }

    /// Ends one wait.
    private func end(_ number: UInt64) { state.withLock { $0.waiting.removeValue(forKey: number) }?.resume() }
}
