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
    package func wait(since seen: UInt64) async { await wait(since: seen, as: nextNumber(), until: nil) }

    /// Like `wait(since:)`, but returns at `deadline` at the latest. Others that wait go on waiting.
    package func wait(since seen: UInt64, until deadline: ContinuousClock.Instant) async {
        let number = nextNumber()
        let timer = Task {
            do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
            self.end(number)
        }
        defer { timer.cancel() }
        await wait(since: seen, as: number, until: deadline)
    }

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    private func wait(since seen: UInt64, as number: UInt64, until deadline: ContinuousClock.Instant?) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    // If the task was cancelled before, or its time is over, there was no continuation to resume.
                    if state.count != seen || Task.isCancelled { return true }
                    if let deadline, deadline <= .now { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isLate { continuation.resume() }
            }
        } onCancel: {
            end(number)
        }
    }

    /// Ends one wait.
    private func end(_ number: UInt64) { state.withLock { $0.waiting.removeValue(forKey: number) }?.resume() }
}
