import Synchronization

/// Coordinates notifications about new jobs: one submission notifies for all that were committed before it began.
final class WorkNews: Sendable {
    private enum State { case told, telling, tellingAndMore }
    private let state = Mutex(State.told)

    /// Whether the caller must notify. If not, another submission notifies after this call.
    func begin() -> Bool {
        state.withLock { state in
            guard case .told = state else {
                state = .tellingAndMore
                return false
            }
            state = .telling
            return true
        }
    }

    /// Whether more was committed meanwhile. The caller must then notify again, and call this again.
    func end() -> Bool {
        state.withLock { state in
            guard case .tellingAndMore = state else {
                state = .told
                return false
            }
            state = .telling
            return true
        }
    }
}
