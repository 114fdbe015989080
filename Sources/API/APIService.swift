import Conversion
import FoundationEssentials
import HTTPServer
import Ledger
import Storage

/// Answers requests: finds the operation, checks what it is given, has the token checked, and turns errors into problems.
struct APIService: RequestService {
    private let router: Router
    private let authenticator: TokenAuthenticator
    private let origins: OriginCheck
    /// For operations without a caller.
    private let ledger: JobLedger
    private let complain: @Sendable (Failure) -> Void
    private let outages = OutageLines()
    private let turns = BodyTurns()
    private let operations: [Operation]
    /// Sessions of pages that need no token.
    private let links: LinkSessions?
    /// Serves what is not a path of the API.
    private let pages: (any PageService)?

    init(
        _ ledger: JobLedger,
        _ authenticator: TokenAuthenticator,
        _ origins: OriginCheck,
        operations: [Operation],
        links: LinkSessions? = nil,
        pages: (any PageService)? = nil,
        complain: @escaping @Sendable (Failure) -> Void
    ) {
        (self.ledger, self.authenticator, self.origins, self.complain) = (ledger, authenticator, origins, complain)
        (self.operations, self.links, self.pages) = (operations, links, pages)
        router = Router(operations)
    }

    func refusal(_ status: HTTPStatus, _ why: String) -> HTTPAnswer {
        let code: Problem.Code =
            switch status {
            case .forbidden: .otherUser
            case .lengthRequired: .lengthRequired
            case .contentTooLarge: .bodyTooLarge
            case .serviceUnavailable: .overloaded
            default: .badRequest
            }
        return finished(Problem(code, why).answer)
    }

    func receive(_ head: RequestHead) -> Reception {
        switch router.match(head) {
        case .none:
            if let reception = pages?.receive(head, access) { return reception }
            return .answer(finished(Problem(.noSuchThing, "there is nothing at this path").answer))
        case .methods(let methods):
            var problem = Problem(.wrongMethod, "this path takes \(methods.joined(separator: ", "))")
            problem.methods = methods
            return .answer(finished(problem.answer))
        case .operation(let operation, let path): return receive(head, operation, path)
        }
    }

    /// What pages ask of the API.
    private var access: PageAccess {
        PageAccess(
            authenticator: authenticator,
            origins: origins,
            links: links,
            operations: operations,
            turns: turns
        ) { problem($0) }
    }

    private func receive(_ head: RequestHead, _ operation: Operation, _ path: [String: String]) -> Reception {
        do {
            try origins.checkOrigin(head)
        } catch {
            let refusal = finished(error.answer)
            // A short body is read to its end, so that the refusal is not lost.
            return .collect(bodyLimit: Int(clamping: head.bodyLength)) { .refused(refusal) }
        }
        let request = Request(head: head, operation: operation, path: path)
        func collect(_ schema: Schema) -> Reception {
            .collect(bodyLimit: operation.bodyLimit) { await permission(for: request, schema) }
        }
        switch operation.body {
        case .none:
            guard head.bodyLength == 0 else {
                return .answer(finished(Problem(.badBody, "this operation takes no body").answer))
            }
            return .run {
                await answer(request) {
                    let caller = try await caller(request)
                    return await authenticator.watched(try await run(request, caller), caller)
                }
            }
        case .json(let schema): return collect(schema)
        case .jsonOrLines(let schema, _):
            guard let type = head.bodyType, ["application/x-ndjson", "application/jsonl"].contains(type) else {
                return collect(schema)
            }
            return stream(request)
        case .file:
            guard head.field("content-length") != nil else {
                return .answer(finished(Problem(.lengthRequired, "say how long the file is").answer))
            }
            return stream(request)
        }
    }

    /// What is known of a request before its caller is.
    private struct Request {
        let head: RequestHead
        let operation: Operation
        let path: [String: String]
    }

    private func stream(_ request: Request) -> Reception {
        .stream { body in
            await answer(request) {
                let caller = try await caller(request)
                return try await authenticator.watch(caller).run { try await run(request, caller, stream: body) }
            }
        }
    }

    /// Decides whether a JSON body is read: only after the token, and only if it can be of use.
    private func permission(for request: Request, _ schema: Schema) async -> BodyPermission {
        do {
            let caller = try await caller(request)
            let type = request.head.bodyType
            guard type == "application/json" else {
                throw Problem(.wrongType, "the body must be application/json, not \(type ?? "without a type")")
            }
            return .granted(account: caller.caller.account) { bytes in
                await answer(request) {
                    // The token may have ended while the body came.
                    let caller = try await self.caller(request)
                    return try await turns.answer(bytes, of: caller.caller.account) { bytes in
                        Self.body(bytes, schema)
                    } run: { value in
                        try await run(request, caller, body: value)
                    }
                }
            }
        } catch {
            return .refused(finished(problem(error).answer))
        }
    }

    private static func body(_ bytes: [UInt8], _ schema: Schema) -> Result<JSONValue, Problem> {
        guard let value = JSONValue(json: bytes) else { return .failure(Problem(.badBody, "the body is not JSON")) }
        if let pointer = RepeatedMember.pointer(in: bytes) {
            return .failure(Problem(.badBody, mistakes: [.init(pointer: pointer, detail: "is given twice")]))
        }
        let mistakes = schema.mistakes(in: value)
        return mistakes.isEmpty ? .success(value) : .failure(Problem(.badBody, mistakes: mistakes))
    }

    private func run(
        _ request: Request,
        _ caller: AuthenticatedCaller,
        body: JSONValue? = nil,
        stream: BodyStream? = nil
    ) async throws -> HTTPAnswer {
        try await request.operation.run(
            Call(
                head: request.head,
                ledger: caller.ledger,
                caller: caller.caller,
                parameters: try Router.parameters(of: request.operation, request.head, path: request.path),
                body: body,
                stream: stream
            )
        )
    }

    /// What `run` returns, or the problem that it throws.
    private func answer(_ request: Request, _ run: () async throws -> HTTPAnswer) async -> HTTPAnswer {
        let operation = request.operation
        do {
            return finished(try await run(), operation.answerType == EventOperation.answerType ? nil : request.head)
        } catch let error as LedgerError
            where error.sqlState == "P0002" && operation.body.isNone && !request.path.isEmpty
        {
            // What the path names was there a moment ago, when the operation looked.
            return finished(Problem(.noSuchThing, error.detail).answer)
        } catch {
            return finished(problem(error).answer)
        }
    }

    private func caller(_ request: Request) async throws -> AuthenticatedCaller {
        let operation = request.operation
        guard case .roles = operation.access else {
            return AuthenticatedCaller(caller: Caller(name: "", role: .viewer, tenant: nil), ledger: ledger)
        }
        let caller = try await authenticator.caller(request.head)
        if let refusal = operation.refusal(of: caller.caller) { throw refusal }
        return caller
    }

    private func problem(_ error: any Error) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as LedgerError:
            let failure = error.failure
            func problem(_ status: HTTPStatus) -> Problem {
                var answered = error
                // Its own hint names the login, which is the coordinator's.
                if error.code == .ledgerPermissionDenied { answered.hint = error.code.advice }
                if let text = Self.text(insteadOf: error) {
                    answered.detail = text
                    if outages.isWorthALine(error.code) { complain(failure) }
                }
                var problem = Problem(answered.failure, status)
                (problem.operation, problem.sqlState) = (error.operation, error.sqlState)
                problem.mayHaveHappened = error.mayHaveHappened
                return problem
            }
            if error.isTransient { return problem(.serviceUnavailable) }
            switch error.code {
            // It says nothing of the caller.
            case .ledgerPermissionDenied where Self.isOfOwnLogin(error): return problem(.serviceUnavailable)
            case .ledgerPermissionDenied: return problem(.forbidden)
            case .ledgerRefused: return problem(.unprocessableContent)
            case .ledgerConflict: return problem(.conflict)
            case .ledgerQuotaExceeded: return problem(.tooManyRequests)
            case .cancelled: return problem(.serviceUnavailable)
            default:
                complain(failure)
                return Problem(.unexpected, "the ledger: \(failure.code)")
            }
        // The client has left.
        case is CancellationError: return Problem(.overloaded)
        case let error as StorageError:
            complain(error.failure)
            return Problem(error.failure, .internalError)
        default:
            complain(Failure(.unexpected, at: .ledger, "\(error)"))
            return Problem(.unexpected)
        }
    }

    /// What clients are told of trouble with the connection to the database, whose own text may name its address and
    /// its login; `nil` for errors that may be told as they are. During an outage the coordinator cannot check tokens, so
    /// all clients get the same text.
    private static func text(insteadOf error: LedgerError) -> String? {
        switch error.code {
        case .ledgerCannotReach: "the database does not answer; the log of the coordinator says more"
        case .ledgerConnectionLost: "the connection to the database broke; the log of the coordinator says more"
        case .ledgerTimedOut: "the database did not answer in time"
        case .ledgerReadOnly: "the database takes no changes at present"
        // Of this process: that its connections, or its space for submissions, are in use.
        case .ledgerExhausted where error.sqlState == nil: error.detail
        case .ledgerExhausted: "the database has no room for this at present; the log of the coordinator says more"
        case .ledgerPermissionDenied where isOfOwnLogin(error):
            "the database refuses the login of the coordinator; the log of the coordinator says more"
        default: nil
        }
    }

    /// Whether the database refuses the coordinator's own login: libpq's reason without a state, or the server's.
    private static func isOfOwnLogin(_ error: LedgerError) -> Bool { error.sqlState.map { $0.hasPrefix("28") } ?? true }

    /// An FNV-1a hash. It need not resist attacks: a client that forges a tag deceives only itself.
    private static func tag(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "\"" + String(hash, radix: 16) + "\""
    }

    /// Adds what every answer has.
    private func finished(_ answer: HTTPAnswer, _ head: RequestHead? = nil) -> HTTPAnswer {
        var answer = answer
        answer.fields.append(("X-Content-Type-Options", "nosniff"))
        if let head, ["GET", "HEAD"].contains(head.method), answer.status == .ok, case .bytes(let bytes) = answer.body {
            let tag = Self.tag(of: bytes)
            answer.fields += [("ETag", tag), ("Cache-Control", "no-cache")]
            if head.names(tag, in: "if-none-match", weakly: true) {
                answer.status = .notModified
                answer.body = .bytes([])
            }
        }
        if answer.fields.allSatisfy({ $0.name != "Cache-Control" }) {
            answer.fields.append(("Cache-Control", "no-store"))
        }
        return answer
    }
}

extension HTTPAnswer {
    /// A value as JSON.
    static func json(_ value: some Encodable, _ status: HTTPStatus = .ok) throws -> HTTPAnswer {
        text(try JSONText.line(value) + "\n", as: "application/json", status)
    }
}
