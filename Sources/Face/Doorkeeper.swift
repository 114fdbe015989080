import Ledger
import Synchronization

/// Tells who asks, by the token of a request.
///
/// Tokens are remembered for some seconds, so that requests do not ask the ledger each time. A revoked token is therefore
/// accepted for that long.
actor Doorkeeper {
    /// Who asks, and the ledger acting for them.
    struct Guest: Sendable {
        let caller: Caller
        let ledger: JobLedger
    }

    private struct Known {
        let guest: Guest
        let number: Int32
        var until: ContinuousClock.Instant
    }

    private let ledger: JobLedger
    /// For requests without a token; `nil` refuses them.
    private let unnamed: Guest?
    private var known: [AccessToken: Known] = [:]
    /// Look-ups under way. Requests with the same token share one.
    private var lookUpsUnderWay: [AccessToken: Task<Guest, any Error>] = [:]
    private var used: Set<Int32> = []
    private var notedAt = ContinuousClock.now
    /// How many more tokens that are not known may be looked up, refilled with time.
    private var lookUps = Double(burst)
    private var refilledAt = ContinuousClock.now

    private static let memory: Duration = .seconds(5)
    private static let knownLimit = 10_000
    private static let burst = 50
    private static let lookUpsPerSecond = 20.0

    /// `openRole` is the role of requests without a token.
    init(_ ledger: JobLedger, openRole: AccessRole?) throws {
        self.ledger = ledger
        unnamed = try openRole.map { role in
            Guest(
                caller: Caller(name: "local", role: role, tenant: nil),
                ledger: ledger.acting(for: try Principal(name: "local", role: role))
            )
        }
    }

    /// Throws a `Problem` if the token is missing or not valid.
    func guest(_ authorization: String?) async throws -> Guest {
        guard let authorization else {
            guard let unnamed else { throw Problem(.noToken) }
            return unnamed
        }
        let words = authorization.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Problem(.badToken, "the Authorization field must be \"Bearer TOKEN\"")
        }
        let token: AccessToken
        do {
            token = try AccessToken(String(words[1]))
        } catch let error as LedgerError {
            throw Problem(.badToken, error.detail)
        }
        let now = ContinuousClock.now
        let earlier = known[token]
        if let earlier, earlier.until > now {
            used.insert(earlier.number)
            return earlier.guest
        }
        if let underWay = lookUpsUnderWay[token] { return try await underWay.value }
        // The limit is for unknown tokens, so guesses do not delay the holder of one that was valid some seconds ago.
        if earlier == nil { try spendLookUp(now) }
        let lookUp = Task { try await find(token, earlier, now) }
        lookUpsUnderWay[token] = lookUp
        defer { lookUpsUnderWay[token] = nil }
        return try await lookUp.value
    }

    private func find(_ token: AccessToken, _ earlier: Known?, _ now: ContinuousClock.Instant) async throws -> Guest {
        guard let record = try await ledger.find(token) else {
            known[token] = nil
            throw Problem(.badToken, "the ledger does not know it")
        }
        guard record.state == .valid else {
            known[token] = nil
            throw Problem(.badToken, "it was revoked, or has expired")
        }
        if earlier == nil { lookUps += 1 }
        let principal = try record.principal()
        // A copy of the ledger is kept while its principal stays the same, because copies do not share calls.
        let guest =
            earlier.flatMap { $0.guest.caller == Caller(principal) ? $0.guest : nil }
            ?? Guest(caller: Caller(principal), ledger: ledger.acting(for: principal))
        if known.count >= Self.knownLimit { known = known.filter { $0.value.until > now } }
        known[token] = Known(guest: guest, number: record.id, until: now + Self.memory)
        used.insert(record.id)
        await noteUse(now)
        return guest
    }

    private func spendLookUp(_ now: ContinuousClock.Instant) throws(Problem) {
        let gained = (now - refilledAt) / .seconds(1) * Self.lookUpsPerSecond
        lookUps = min(Double(Self.burst), lookUps + gained)
        refilledAt = now
        guard lookUps >= 1 else { throw Problem(.tooManyFailures) }
        lookUps -= 1
    }

    /// Records at most once a minute which tokens were used.
    private func noteUse(_ now: ContinuousClock.Instant) async {
        guard now - notedAt > .seconds(60) else { return }
        notedAt = now
        let ids = Array(used)
        used = []
        // `try?`: when a token was last used is not worth a request's failure.
        try? await ledger.noteUse(ofTokens: ids)
    }
}

extension Caller {
    fileprivate init(_ principal: Principal) {
        self.init(name: principal.name, role: principal.role, tenant: principal.tenant)
    }
}
