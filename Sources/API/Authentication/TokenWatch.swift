import HTTPServer
import Synchronization

/// Tells a request that lasts when its token or its session has ended.
final class TokenWatch: Sendable {
    private struct State {
        var isOver = false
        var actions: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether the token was revoked, or has expired, or the session has ended.
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

    /// Runs something that ends when the token does.
    func run(_ run: @escaping @Sendable () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        let work = Task { try await run() }
        whenOver { work.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
        } catch {
            guard isOver else { throw error }
            var problem = Problem(.badToken, TokenAuthenticator.ended)
            problem.cutsBody = true
            throw problem
        }
    }

    /// Has an answer that lasts end when the token does.
    func end(_ answer: HTTPAnswer) {
        switch answer.body {
        case .bytes: break
        case .file(let feed):
            feed.keep(self)
            whenOver { [weak feed] in feed?.stop() }
        case .events(let channel):
            channel.keep(self)
            whenOver { [weak channel] in channel?.end(droppingWhatWaits: true) }
        }
    }
}

/// A request that may have ended.
struct WeakWatch: Sendable {
    weak var watch: TokenWatch?
}
