import Synchronization

/// Who tells workers of new jobs: one submission at a time, for all that are committed before it begins.
final class WorkNews: Sendable {
    private enum State { case told, telling, tellingAndMore }
    private let state = Mutex(State.told)

    /// Whether the caller is to tell them. If not, another submission tells them after this call.
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

    /// Whether there was more meanwhile, so that they are to be told again, and this is to be called again.
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
