import Synchronization

/// Whether and how the worker is to end.
final class StopOrder: Sendable {
    private struct State {
        var isGiven = false
        /// When what still runs is handed back; `nil` for never.
        var deadline: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    let bell = Bell()

    var isGiven: Bool { state.withLock { $0.isGiven } }
    var deadline: ContinuousClock.Instant? { state.withLock { $0.deadline } }

    /// Orders an end, by `deadline` at the latest. An earlier order that was more urgent stands.
    func give(by deadline: ContinuousClock.Instant?) {
        state.withLock { state in
            state.deadline = [state.deadline, deadline].compactMap(\.self).min()
            state.isGiven = true
        }
        bell.ring()
    }

    func wait() async {
        while !Task.isCancelled {
            let seen = bell.rings
            if isGiven { return }
            await bell.wait(since: seen)
        }
    }
}
