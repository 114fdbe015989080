import Ledger
import Synchronization

/// Sessions of the owner of a private cluster, which begin with one-time links. Links are made where only the owner can
/// make them.
///
/// The sessions are in memory only, so they end with the coordinator. A process that later listens at its port, and
/// receives the cookie of a page that is still open, cannot use it.
final class LinkSessions: Sendable {
    private struct Session {
        let ends: ContinuousClock.Instant
        /// Ends the session when its time is over.
        let timer: Task<Void, Never>
        /// Requests that last.
        var watches: [WeakWatch] = []

        /// To be called without the lock, for a session that is no longer kept.
        func end() {
            timer.cancel()
            for holder in watches { holder.watch?.end() }
        }
    }

    /// The owner as an operator, who changes all jobs.
    let steering: AuthenticatedCaller
    /// The owner as a submitter.
    let submitting: AuthenticatedCaller
    private let redeems: @Sendable (String) -> Bool
    private let sessions = Mutex<[AccessToken: Session]>([:])

    static let name = "page@local"
    static let life: Duration = .seconds(7 * 86_400)
    static let most = 100

    /// `redeems` says whether the secret of a link is valid, which it is once.
    init(_ ledger: JobLedger, redeems: @escaping @Sendable (String) -> Bool) throws {
        func caller(_ role: AccessRole) throws -> AuthenticatedCaller {
            AuthenticatedCaller(
                caller: Caller(name: Self.name, role: role, tenant: nil),
                ledger: ledger.acting(for: try Principal(name: Self.name, role: role))
            )
        }
        (steering, submitting) = (try caller(.operator), try caller(.submitter))
        self.redeems = redeems
    }

    deinit { for session in sessions.withLock({ $0.values }) { session.timer.cancel() } }

    /// Begins a session with the secret of a link; `nil` if the link is not valid. Of too many sessions, the oldest end.
    func begin(with secret: String, now: ContinuousClock.Instant = .now) -> AccessToken? {
        guard redeems(secret) else { return nil }
        let token = AccessToken()
        let ends = now + Self.life
        let timer = Task { [weak self] in
            // `try?`: the sleep ends early only because the session has ended.
            guard (try? await Task.sleep(until: ends, clock: .continuous)) != nil else { return }
            self?.end(token)
        }
        let oldest = sessions.withLock { sessions -> Session? in
            defer { sessions[token] = Session(ends: ends, timer: timer) }
            guard sessions.count >= Self.most, let oldest = sessions.min(by: { $0.value.ends < $1.value.ends }) else {
                return nil
            }
            return sessions.removeValue(forKey: oldest.key)
        }
        oldest?.end()
        return token
    }

    /// The token that `text` is, if its session has not ended.
    func valid(_ text: String, now: ContinuousClock.Instant = .now) -> AccessToken? {
        // `try?`: other texts are those of no session.
        guard let token = try? AccessToken(text) else { return nil }
        let isValid = sessions.withLock { $0[token].map { $0.ends > now } ?? false }
        return isValid ? token : nil
    }

    /// Watches the session of a request that lasts, for as long as what it returns is referred to.
    func watch(_ token: AccessToken) -> TokenWatch {
        let watch = TokenWatch()
        let isKept = sessions.withLock { sessions in
            guard sessions[token] != nil else { return false }
            sessions[token]?.watches.removeAll { $0.watch == nil }
            sessions[token]?.watches.append(WeakWatch(watch: watch))
            return true
        }
        if !isKept { watch.end() }
        return watch
    }

    func end(_ text: String) {
        // `try?`: other texts are those of no session.
        if let token = try? AccessToken(text) { end(token) }
    }

    private func end(_ token: AccessToken) { sessions.withLock { $0.removeValue(forKey: token) }?.end() }
}
