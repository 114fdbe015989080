import Synchronization

/// Something that tasks wait for and others ring. Who says what was rung when it last looked, misses nothing.
final class Bell: Sendable {
    private struct State {
        var rings: UInt64 = 0
        var lastNumber: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// How often it has rung. To be read before looking at what the ring is about.
    var rings: UInt64 { state.withLock { $0.rings } }

    func ring() {
        let woken = state.withLock { state in
            state.rings &+= 1
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for one in woken { one.resume() }
    }

    /// Returns when it has rung since `seen`, or the task is cancelled.
    func wait(since seen: UInt64) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    // A cancellation that came before found no waiting task.
                    if state.rings != seen || Task.isCancelled { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isLate { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    /// The same, or at `deadline`.
    func wait(since seen: UInt64, until deadline: ContinuousClock.Instant) async {
        let timer = Task {
            do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
            self.ring()
        }
        defer { timer.cancel() }
        await wait(since: seen)
    }
}
