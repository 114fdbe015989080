import Synchronization

/// Tells a request that lasts when its token has ended.
final class TokenWatch: Sendable {
    private struct State {
        var isOver = false
        var actions: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether the token was revoked, or has expired.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Runs `action` when the token has ended; at once if it has.
    func whenOver(_ action: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.actions.append(action) }
            return state.isOver
        }
        if isOver { action() }
    }

    func end() {
        let actions = state.withLock { state in
            state.isOver = true
            defer { state.actions = [] }
            return state.actions
        }
        for action in actions { action() }
    }
}
