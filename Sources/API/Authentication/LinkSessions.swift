import Ledger
import Synchronization

/// Sessions of the owner of a private cluster, which begin with one-time links. Links are made where only the owner can
/// make them.
///
/// The sessions are in memory only. So they end with the coordinator: who waits at its port until it is gone, and catches
/// the cookie of a page that is still open, has a cookie of nothing.
final class LinkSessions: Sendable {
    /// The owner as an operator, who changes all jobs.
    let steering: AuthenticatedCaller
    /// The owner as a submitter.
    let submitting: AuthenticatedCaller
    private let redeems: @Sendable (String) -> Bool
    /// When each session ends.
    private let ends = Mutex<[AccessToken: ContinuousClock.Instant]>([:])

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

    /// Begins a session with the secret of a link; `nil` if the link is not valid. Of too many sessions, the oldest end.
    func begin(with secret: String, now: ContinuousClock.Instant = .now) -> AccessToken? {
        guard redeems(secret) else { return nil }
        let token = AccessToken()
        ends.withLock { ends in
            ends = ends.filter { $0.value > now }
            if ends.count >= Self.most, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
            ends[token] = now + Self.life
        }
        return token
    }

    /// Whether it is the token of a session that has not ended.
    func isValid(_ text: String, now: ContinuousClock.Instant = .now) -> Bool {
        // `try?`: other texts are those of no session.
        guard let token = try? AccessToken(text) else { return false }
        return ends.withLock { $0[token].map { $0 > now } ?? false }
    }

    func end(_ text: String) {
        // `try?`: other texts are those of no session.
        guard let token = try? AccessToken(text) else { return }
        ends.withLock { $0[token] = nil }
    }
}
