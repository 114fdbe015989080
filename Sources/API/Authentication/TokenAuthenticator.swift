import HTTPServer
import Ledger
import Synchronization

/// Who asks, and the ledger acting for them.
struct AuthenticatedCaller: Sendable {
    let caller: Caller
    let ledger: JobLedger
    /// `nil` for a request without a token.
    var token: AccessToken?
}

/// Finds the caller of a request by its token.
///
/// Tokens are remembered for some seconds, so that requests do not ask the ledger each time. A revoked token is therefore
/// accepted for that long. Requests that last have their tokens looked up again and again.
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
    private let origins: OriginCheck
    private var known: [AccessToken: Known] = [:]
    /// Look-ups under way. Requests with the same token share one.
    private var lookUpsUnderWay: [AccessToken: Task<AuthenticatedCaller, any Error>] = [:]
    /// When each token was last used, for those whose last use is not written yet.
    private var used: [Int32: ContinuousClock.Instant] = [:]
    private var writing: Task<Void, Never>?
    /// Requests that last, by their tokens.
    private var watched: [AccessToken: [WeakWatch]] = [:]
    private var watching: Task<Void, Never>?

    private static let memory: Duration = .seconds(5)
    /// Between two looks at the tokens of requests that last.
    private static let watchPause: Duration = .seconds(2)
    /// Why a token is not accepted any more.
    static let ended = "it was revoked, or has expired"
    /// How long the use of a known token may stay unwritten.
    private static let writingPause: Duration = .seconds(10)
    private static let knownLimit = 10_000

    /// Callers get copies of `ledger`, and tokens are looked up with `lookUpLedger`. `openRole` is the role of requests
    /// without a token.
    init(
        _ ledger: JobLedger,
        lookUps lookUpLedger: JobLedger,
        openRole: AccessRole?,
        origins: OriginCheck
    ) throws {
        self.origins = origins
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
        guard let authorization = head.field("authorization") else { return try callerWithoutToken(head) }
        let words = authorization.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw Problem(.badToken, "the Authorization field must be \"Bearer TOKEN\"")
        }
        return try await caller(of: String(words[1]), from: head.network)
    }

    /// The caller of requests without a token. Throws a `Problem` if there is none, and for a foreign host.
    func callerWithoutToken(_ head: RequestHead) throws -> AuthenticatedCaller {
        guard let unnamed else { throw Problem(.noToken) }
        try origins.checkHost(head)
        return unnamed
    }

    /// The caller whose token this is. Throws a `Problem` if it is not valid.
    func caller(of text: String, from network: String) async throws -> AuthenticatedCaller {
        let token: AccessToken
        do {
            token = try AccessToken(text)
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
        let lookUp = Task { try await find(token, earlier, from: network, now) }
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
            throw Problem(.badToken, Self.ended)
        }
        let principal = try record.principal()
        // A copy of the ledger is kept while its principal stays the same, because copies do not share calls.
        let caller =
            earlier.flatMap { $0.caller.caller == Caller(principal) ? $0.caller : nil }
            ?? AuthenticatedCaller(caller: Caller(principal), ledger: ledger.acting(for: principal), token: token)
        if known.count >= Self.knownLimit { known = known.filter { $0.value.until > now } }
        known[token] = Known(caller: caller, number: record.id, until: now + Self.memory)
        used[record.id] = now
        // The first use is written at once, and later ones together.
        if earlier == nil { await writeUses() } else { writeSoon() }
        return caller
    }

    /// Watches the token of a request that lasts, for as long as what it returns is referred to.
    func watch(_ caller: AuthenticatedCaller) -> TokenWatch {
        let watch = TokenWatch()
        guard let token = caller.token else { return watch }
        watched[token, default: []].append(WeakWatch(watch: watch))
        if watching == nil { watching = Task { await lookAgain() } }
        return watch
    }

    /// An answer that ends when its token does.
    func watched(_ answer: HTTPAnswer, _ caller: AuthenticatedCaller) -> HTTPAnswer {
        if case .bytes = answer.body { return answer }
        watch(caller).end(answer)
        return answer
    }

    /// Looks at watched tokens for as long as there are any.
    private func lookAgain() async {
        while !watched.isEmpty, !Task.isCancelled {
            // `try?`: the sleep ends early only because `stop` cancels it, and then the loop ends.
            try? await Task.sleep(for: Self.watchPause, clock: .continuous)
            watched = watched.mapValues { $0.filter { $0.watch != nil } }.filter { !$0.value.isEmpty }
            let tokens = Array(watched.keys)
            for start in stride(from: 0, to: tokens.count, by: 500) {
                let group = Array(tokens[start..<min(start + 500, tokens.count)])
                // `try?`: while the ledger does not answer, the tokens stay as they are. The next look asks again.
                guard let records = try? await lookUpLedger.find(group, within: Self.watchPause) else { continue }
                for (token, record) in zip(group, records) where record?.state != .valid {
                    known[token] = nil
                    for holder in watched.removeValue(forKey: token) ?? [] { holder.watch?.end() }
                }
            }
        }
        watching = nil
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
        watching?.cancel()
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
