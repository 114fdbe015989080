import Synchronization

/// Coordinates notifications about new jobs: one submission notifies for all that were committed before it began.
final class JobNotifier: Sendable {
    private enum State { case idle, notifying, notifyingAndMore }
    private let state = Mutex(State.idle)

    /// Whether the caller must notify. If not, another submission notifies after this call.
    func begin() -> Bool {
        state.withLock { state in
            guard case .idle = state else {
                state = .notifyingAndMore
                return false
            }
            state = .notifying
            return true
        }
    }

    /// Whether more was committed meanwhile. The caller must then notify again, and call this again.
    func end() -> Bool {
        state.withLock { state in
            guard case .notifyingAndMore = state else {
                state = .idle
                return false
            }
            state = .notifying
            return true
        }
    }
}
