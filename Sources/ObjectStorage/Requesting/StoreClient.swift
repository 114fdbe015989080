import Conversion
import Synchronization
import System
package import WebClient

/// Sends calls to the store of one bucket. Its calls block; any number of threads may make them.
package final class StoreClient: Sendable {
    /// How patient it is.
    package struct Patience: Sendable {
        /// The most attempts for one call.
        package var attempts = 8
        /// Before the second attempt, and between later ones at most. Each wait is a random share of a bound that doubles.
        package var firstWait: Duration = .milliseconds(100)
        package var longestWait: Duration = .seconds(20)
        /// For a call with all its attempts. The last one has the time that is left. A call of which one attempt may take more
        /// than a minute has that much more.
        package var deadline: Duration = .seconds(300)
        /// How long the store may be silent.
        package var silenceLimit: Duration = .seconds(30)

        package init() {}
    }

    private struct State {
        var region: String
        /// What is added to the clock of this machine, in seconds.
        var clockOffset: Int64 = 0
        /// How far the store's clock was ahead of this machine's when it answered last, in seconds; `nil` before.
        var shownOffset: Int64?
    }

    package let address: BucketAddress
    let credentials: CredentialProvider
    private let patience: Patience
    private let now: @Sendable () -> StoreTime
    private let wait: @Sendable (Duration) -> Void
    private let state: Mutex<State>
    private let connections = ConnectionPool()

    /// Connects to nothing yet. `region` counts if the address has none. `wait` blocks between two attempts.
    package init(
        _ address: BucketAddress,
        region: String? = nil,
        credentials: CredentialProvider,
        patience: Patience = Patience(),
        now: @escaping @Sendable () -> StoreTime = StoreTime.now,
        wait: @escaping @Sendable (Duration) -> Void = BlockingPause.pause
    ) {
        self.address = address
        self.credentials = credentials
        self.patience = patience
        self.now = now
        self.wait = wait
        state = Mutex(State(region: address.options.region ?? region ?? "us-east-1"))
    }

    /// The region that requests are signed for.
    package var region: String { state.withLock { $0.region } }

    /// What the store's clock shows, as far as it is known.
    package var time: StoreTime { StoreTime(seconds: now().seconds + state.withLock { $0.clockOffset }) }

    /// How many seconds the store's clock is ahead of this machine's, once a request has failed because of it; 0 before.
    package var clockOffset: Int64 { state.withLock { $0.clockOffset } }

    /// The clock that the ends of credentials are compared with, as seconds to add to this machine's. The date of each answer
    /// shows it, but not more exactly than to some seconds. `nil` before the first answer.
    private var credentialOffset: Int64? {
        state.withLock { state in state.shownOffset.map { abs($0) > Self.inexactness ? $0 : 0 } }
    }
    private static let inexactness: Int64 = 30

    /// `began` is when the request was sent, by this machine's clock. The date is from some moment of the exchange.
    private func note(_ answer: WebAnswer, since began: StoreTime) {
        guard let date = answer.header("date").flatMap({ StoreTime(httpDate: $0) }) else { return }
        let ended = now()
        let offset = date.seconds > ended.seconds ? date.seconds - ended.seconds : min(0, date.seconds - began.seconds)
        state.withLock { $0.shownOffset = offset }
    }

    /// The bucket and the key, for messages.
    package func place(_ key: String) -> String { "s3://\(address.bucket)\(key.isEmpty ? "" : "/")\(key)" }

    /// Sends `call`, again if it may then succeed, and returns an answer of success.
    ///
    /// With `take`, the body goes there piece by piece; `begin` gets the answer before. Either ends the call when it returns
    /// false. From the first piece on, an attempt that breaks is the last one: the caller knows what it has.
    package func send(
        _ call: StoreCall,
        stop: WebStop? = nil,
        begin: ((WebAnswer) -> Bool)? = nil,
        take: ((UnsafeRawBufferPointer) -> Bool)? = nil
    ) throws(StoreError) -> StoreAnswer {
        let deadline = ContinuousClock.now + (call.deadline ?? patience.deadline + call.furtherTime)
        var backOff = BackOff(first: patience.firstWait, longest: patience.longestWait)
        var repair = Repair()
        var mayHaveHappened = false
        var attempt = 1
        while true {
            if stop?.isStopped == true { throw stopped(call, mayHaveHappened) }
            var hasTaken = false
            let error: StoreError
            var rest: Duration?
            do throws(StoreError) {
                let (request, basis) = try signed(call)
                let began = now()
                let answer = try attemptOnce(call, request, until: deadline, stop, begin) { piece in
                    hasTaken = true
                    return take?(piece) ?? true
                } isTaken: {
                    take != nil
                }
                note(answer, since: began)
                let isSuccess = (200..<300).contains(answer.status)
                if isSuccess { return StoreAnswer(answer: answer, mayHaveHappenedBefore: mayHaveHappened) }
                let problem = StoreProblem(answer)
                if repair.isRepaired(problem, of: call, basis, by: self), ContinuousClock.now < deadline { continue }
                rest = answer.retryAfter(now: now())
                error = refusal(call, problem, mayHaveHappened)
            } catch {
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened
                var error = error
                error.mayHaveHappened = mayHaveHappened
                guard error.kind == .unavailable, !hasTaken else { throw error }
                let wait = backOff.next()
                guard attempt < call.attempts ?? patience.attempts, ContinuousClock.now + wait < deadline else {
                    throw error
                }
                attempt += 1
                BlockingPause.pause(wait, until: stop, by: self.wait)
                continue
            }
            // A store that reports an internal error may have done its work.
            if error.problem.map({ $0.status >= 500 && $0.status != 503 }) == true { mayHaveHappened = true }
            let wait = max(backOff.next(), rest ?? .zero)
            guard error.kind == .unavailable || error.problem?.isTemporary == true,
                attempt < call.attempts ?? patience.attempts, ContinuousClock.now + wait < deadline
            else {
                var error = error
                error.mayHaveHappened = mayHaveHappened
                throw error
            }
            attempt += 1
            BlockingPause.pause(wait, until: stop, by: self.wait)
        }
    }

    // MARK: - One attempt

    private func attemptOnce(
        _ call: StoreCall,
        _ signed: WebRequest,
        until deadline: ContinuousClock.Instant,
        _ stop: WebStop?,
        _ begin: ((WebAnswer) -> Bool)?,
        _ take: @escaping (UnsafeRawBufferPointer) -> Bool,
        isTaken: () -> Bool
    ) throws(StoreError) -> WebAnswer {
        var request = signed
        // libcurl takes a limit of 0 for none.
        let rest = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline))
        request.timeLimit = min(call.timeLimit, rest)
        do throws(WebError) {
            let connection = try connections.borrow()
            let answer = try connection.web.send(
                request,
                begin: begin,
                take: isTaken() ? take : nil,
                stop: stop
            )
            connections.giveBack(connection)
            return answer
        } catch {
            throw failure(call, error)
        }
    }

    /// What a request was signed with. Other calls may have changed it when the answer is there.
    private struct Basis {
        let region: String
        let time: StoreTime
        let credentials: StoreCredentials
    }

    /// The request of `call`, signed with what is known now.
    private func signed(_ call: StoreCall) throws(StoreError) -> (WebRequest, Basis) {
        let (region, time) = (region, time)
        var request = StoreRequest(call.method, address.server(in: region), path: address.requestPath(call.key))
        request.parameters = call.parameters
        request.headers = call.headers
        if address.options.paysForRequests {
            request.headers.append(WebRequest.Header("x-amz-request-payer", "requester"))
        }
        request.bodyHash = call.bodyHash
        var web = WebRequest(call.method, url: request.url)
        let found: StoreCredentials
        do throws(CredentialError) {
            found = try credentials.credentials(clockOffset: credentialOffset)
        } catch {
            throw StoreError(
                error.isTemporary ? .unavailable : .noCredentials,
                call.operation,
                place(call.key),
                error.why,
                hint: error.hint
            )
        }
        web.headers = RequestSigner(found, region: region).sign(request, at: time)
        // libcurl would say that a body is a form.
        if !call.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            web.headers.append(WebRequest.Header("Content-Type", ""))
        }
        web.body = call.webBody
        web.keepsPath = true
        web.isSentOnce = call.isSentOnce
        web.silenceLimit = call.mayBeSilent ? nil : patience.silenceLimit
        web.answerLimit = call.answerLimit
        return (web, Basis(region: region, time: time, credentials: found))
    }

    // MARK: - Failures

    private func failure(_ call: StoreCall, _ error: WebError) -> StoreError {
        let kind = StoreError.Kind(error)
        let place = place(call.key)
        let server = address.server(in: region).authority
        let detail = "\(server): \(error.message)"
        return StoreError(kind, call.operation, place, detail, mayHaveHappened: error.mayHaveArrived)
    }

    private func stopped(_ call: StoreCall, _ mayHaveHappened: Bool) -> StoreError {
        StoreError(.stopped, call.operation, place(call.key), "stopped", mayHaveHappened: mayHaveHappened)
    }

    private func refusal(_ call: StoreCall, _ problem: StoreProblem, _ mayHaveHappened: Bool) -> StoreError {
        var kind = StoreError.Kind(problem)
        if call.key.isEmpty, kind == .noSuchObject { kind = .noSuchBucket }
        var hint: String?
        switch kind {
        case .clockSkew: hint = "set the clock of this machine"
        case .accessDenied: hint = "sluice doctor names the permissions that a root needs"
        case .noSuchBucket: hint = "check the name of the bucket, its region and the endpoint"
        default: break
        }
        return StoreError(
            kind,
            call.operation,
            place(call.key),
            problem.description,
            hint: hint,
            problem: problem,
            mayHaveHappened: mayHaveHappened
        )
    }

    /// What was mended after a refusal. Each thing is mended once in a call, so that no store can keep it going.
    private struct Repair {
        private var hasSetClock = false
        private var hasRenewed = false
        private var moves = 0

        /// Whether the cause of `problem` is gone, so that the call is worth another attempt at once. `basis` is that of the
        /// request that was refused.
        mutating func isRepaired(
            _ problem: StoreProblem,
            of call: StoreCall,
            _ basis: Basis,
            by client: StoreClient
        ) -> Bool {
            // An answer to HEAD has no code.
            let time = problem.time
            let isFar = time.map { abs($0.seconds - basis.time.seconds) > 600 } ?? false
            if problem.isClockSkew || problem.status == 403 && isFar, !hasSetClock, let time {
                hasSetClock = true
                let offset = time.seconds - client.now().seconds
                client.state.withLock { $0.clockOffset = offset }
                return true
            }
            // The region becomes a part of the host's name.
            if let region = problem.region, moves < 2, region != basis.region, Self.isElsewhere(problem),
                BucketOptions.isWord(region)
            {
                moves += 1
                client.state.withLock { $0.region = region }
                return true
            }
            // AWS answers with 400 to HEAD with credentials that have ended.
            let mayHaveEnded =
                call.method == "HEAD" && problem.status == 400 && basis.credentials.sessionToken != nil
            if problem.concernsCredentials || mayHaveEnded, !hasRenewed {
                hasRenewed = true
                client.credentials.renew(basis.credentials)
                return true
            }
            return false
        }

        /// Whether the store says that the bucket is in another region.
        private static func isElsewhere(_ problem: StoreProblem) -> Bool {
            let codes = [
                "PermanentRedirect", "TemporaryRedirect", "Redirect", "AuthorizationHeaderMalformed",
                "IllegalLocationConstraintException",
            ]
            // An answer to HEAD has no code.
            return codes.contains(problem.code) || [301, 307].contains(problem.status)
                || problem.status == 400 && problem.code == "BadRequest"
        }
    }
}
