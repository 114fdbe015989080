import HTTPServer
import Ledger
import Synchronization

/// Who asks, and the ledger acting for them.
struct AuthenticatedCaller: Sendable {
    let caller: Caller
    let ledger: JobLedger
}

/// Finds the caller of a request by its token.
///
/// Tokens are remembered for some seconds, so that requests do not ask the ledger each time. A revoked token is therefore
/// accepted for that long.
actor TokenAuthenticator {
    private struct Known {
        let caller: AuthenticatedCaller
        let number: Int32
        var until: ContinuousClock.Instant
    }

    private let ledger: JobLedger
    /// With connections that no request uses, so that requests cannot keep tokens from being looked up.
    private let lookUpLedger: JobLedger
    private let lookUps: TokenLookUps
    /// For requests without a token; `nil` refuses them.
    private let unnamed: AuthenticatedCaller?
    private var known: [AccessToken: Known] = [:]
    /// Look-ups under way. Requests with the same token share one.
    private var lookUpsUnderWay: [AccessToken: Task<AuthenticatedCaller, any Error>] = [:]
    /// When each token was last used, for those whose last use is not written yet.
    private var used: [Int32: ContinuousClock.Instant] = [:]
    private var writing: Task<Void, Never>?

    private static let memory: Duration = .seconds(5)
    /// How long the use of a known token may stay unwritten.
    private static let writingPause: Duration = .seconds(10)
    private static let knownLimit = 10_000

    /// Callers get copies of `ledger`, and tokens are looked up with `lookUpLedger`. `openRole` is the role of requests
    /// without a token.
    init(_ ledger: JobLedger, lookUps lookUpLedger: JobLedger, openRole: AccessRole?) throws {
        (self.ledger, self.lookUpLedger) = (ledger, lookUpLedger)
        lookUps = TokenLookUps { try await lookUpLedger.find($0, within: .seconds(10)) }
        unnamed = try openRole.map { role in
            AuthenticatedCaller(
                caller: Caller(name: "local", role: role, tenant: nil),
                ledger: ledger.acting(for: try Principal(name: "local", role: role))
            )
        }
    }

    /// Throws a `Problem` if the token is missing or not valid.
    func caller(_ head: RequestHead) async throws -> AuthenticatedCaller {
        guard let authorization = head.field("authorization") else {
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
            used[earlier.number] = now
            writeSoon()
            return earlier.caller
        }
        if let underWay = lookUpsUnderWay[token] { return try await underWay.value }
        let lookUp = Task { try await find(token, earlier, from: head.network, now) }
        lookUpsUnderWay[token] = lookUp
        defer { lookUpsUnderWay[token] = nil }
        return try await lookUp.value
    }

    private func find(
        _ token: AccessToken,
        _ earlier: Known?,
        from network: String,
        _ now: ContinuousClock.Instant
    ) async throws -> AuthenticatedCaller {
        guard let record = try await lookUps.record(of: token, isKnown: earlier != nil, from: network) else {
            known[token] = nil
            throw Problem(.badToken, "the ledger does not know it")
        }
        guard record.state == .valid else {
            known[token] = nil
            throw Problem(.badToken, "it was revoked, or has expired")
        }
        let principal = try record.principal()
        // A copy of the ledger is kept while its principal stays the same, because copies do not share calls.
        let caller =
            earlier.flatMap { $0.caller.caller == Caller(principal) ? $0.caller : nil }
            ?? AuthenticatedCaller(caller: Caller(principal), ledger: ledger.acting(for: principal))
        if known.count >= Self.knownLimit { known = known.filter { $0.value.until > now } }
        known[token] = Known(caller: caller, number: record.id, until: now + Self.memory)
        used[record.id] = now
        // The first use is written at once, and later ones together.
        if earlier == nil { await writeUses() } else { writeSoon() }
        return caller
    }

    /// Has the uses written after a pause, so that many tokens cost one statement.
    private func writeSoon() {
        guard writing == nil else { return }
        writing = Task {
            // `try?`: the sleep ends early only because `stop` cancels it, and then `stop` writes the uses.
            guard (try? await Task.sleep(for: Self.writingPause, clock: .continuous)) != nil else { return }
            await writeUses()
            writing = nil
            // Of requests that came meanwhile.
            if !used.isEmpty { writeSoon() }
        }
    }

    private func writeUses() async {
        let now = ContinuousClock.now
        let unwritten = used
        used = [:]
        do {
            try await lookUpLedger.noteUses(ofTokens: unwritten.mapValues { now - $0 })
        } catch {
            // When a token was last used is not worth a request's failure. The next use writes this one, too.
            used.merge(unwritten) { newer, _ in newer }
        }
    }

    /// Writes what it remembers. Call it when no more requests come.
    func stop() async {
        let last = writing
        last?.cancel()
        await last?.value
        await writeUses()
    }
}

extension Caller {
    fileprivate init(_ principal: Principal) {
        self.init(name: principal.name, role: principal.role, tenant: principal.tenant)
    }
}
