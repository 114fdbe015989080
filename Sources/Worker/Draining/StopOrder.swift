import Synchronization

/// Whether the worker should stop, and by when.
final class StopOrder: Sendable {
    private struct State {
        var isGiven = false
        /// When to hand back what still runs; `nil` for never.
        var deadline: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    let signal = WakeSignal()

    var isGiven: Bool { state.withLock { $0.isGiven } }
    var deadline: ContinuousClock.Instant? { state.withLock { $0.deadline } }

    /// Orders a stop by `deadline` at the latest. An earlier deadline stays in force.
    func give(by deadline: ContinuousClock.Instant?) {
        state.withLock { state in
            state.deadline = [state.deadline, deadline].compactMap(\.self).min()
            state.isGiven = true
        }
        signal.send()
    }

    func wait() async {
        while !Task.isCancelled {
            let seen = signal.count
            if isGiven { return }
            await signal.wait(since: seen)
        }
    }
}
