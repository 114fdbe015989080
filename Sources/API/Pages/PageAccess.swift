package import Conversion
package import HTTPServer
package import Ledger

/// What a page asks of the API: who looks at it, what that caller may ask for, and what people are told of an error. So a
/// page cannot have rules of its own.
package struct PageAccess: Sendable {
    private let authenticator: TokenAuthenticator
    private let origins: OriginCheck
    private let links: LinkSessions?
    private let operations: [Operation]
    private let turns: BodyTurns
    private let told: @Sendable (any Error) -> Problem

    init(
        authenticator: TokenAuthenticator,
        origins: OriginCheck,
        links: LinkSessions? = nil,
        operations: [Operation],
        turns: BodyTurns,
        told: @escaping @Sendable (any Error) -> Problem
    ) {
        (self.authenticator, self.origins, self.links) = (authenticator, origins, links)
        (self.operations, self.turns, self.told) = (operations, turns, told)
    }

    /// Who looks at a page.
    package struct Visitor: Sendable {
        package let rights: CallerRights
        /// The ledger, acting for the caller.
        package let ledger: JobLedger
        /// Whether a session was given, which can be ended.
        package let hasSession: Bool
        /// The session that has begun with a link; `nil` for one of a token.
        fileprivate var link: AccessToken?
        /// With the token of the session.
        fileprivate let found: AuthenticatedCaller
        /// The same person in another role, for what `found` may not ask for.
        fileprivate var other: AuthenticatedCaller?
    }

    /// Refuses a request that may change something, if a page of another site has a browser send it.
    package func checkOrigin(_ head: RequestHead) throws(Problem) { try origins.checkOrigin(head) }

    /// Whether sessions begin with one-time links, which the owner of the cluster makes.
    package var hasLinks: Bool { links != nil }

    /// Begins a session with the secret of a one-time link, and returns its token. Throws a `Problem` if the link is not
    /// valid, or not any more.
    package func begin(withLink secret: String, _ head: RequestHead) throws(Problem) -> String {
        try origins.checkName(head)
        guard let token = links?.begin(with: secret) else { throw Problem(.badToken) }
        return token.text
    }

    /// Ends a session that has begun with a link. That of a token ends in the browser alone.
    package func end(session: String) { links?.end(session) }

    /// The caller to whom the token of a session belongs; without one, the caller of requests without a token. Throws a
    /// `Problem`: `noToken` if a session is needed, `badToken` if the token is not valid any more.
    package func visitor(_ head: RequestHead, session: String?) async throws -> Visitor {
        guard let session else { return visitor(try await authenticator.callerWithoutToken(head), hasSession: false) }
        if let links, let link = links.valid(session) {
            try origins.checkName(head)
            var visitor = visitor(links.steering, links.submitting, hasSession: true)
            visitor.link = link
            return visitor
        }
        return visitor(try await authenticator.caller(of: session, from: head.network), hasSession: true)
    }

    private func visitor(
        _ found: AuthenticatedCaller,
        _ other: AuthenticatedCaller? = nil,
        hasSession: Bool
    ) -> Visitor {
        let rights = CallerRights(found.caller, and: other?.caller, among: operations)
        return Visitor(rights: rights, ledger: found.ledger, hasSession: hasSession, found: found, other: other)
    }

    /// Throws what the API tells a caller who may not ask for the operation of this name.
    package func checkRight(to name: String, of visitor: Visitor) throws(Problem) { _ = try permitted(name, visitor) }

    /// Has the API do what a form of a page asks for: the operation of this name, with all checks that programs get. Returns
    /// what it answers; `nil` if that is not JSON.
    @discardableResult
    package func run(
        _ name: String,
        for visitor: Visitor,
        path: [String: String] = [:],
        body: [String: JSONValue] = [:],
        fields: [RequestHead.Field] = []
    ) async throws -> JSONValue? {
        let (operation, caller) = try permitted(name, visitor)
        guard let head = RequestHead(method: operation.method.rawValue, target: "/", fields: fields) else {
            throw Problem(.unexpected)
        }
        let answer = try await self.answer(operation, for: caller, head, path: path, body: body)
        guard case .bytes(let bytes) = answer.body else { return nil }
        return JSONValue(json: bytes)
    }

    /// What an operation answers to the request of a browser, such as events or a file: for as long as the session is valid.
    package func answer(
        of name: String,
        for visitor: Visitor,
        _ head: RequestHead,
        path: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        let (operation, caller) = try permitted(name, visitor)
        let answer = try await self.answer(operation, for: caller, head, path: path, body: [:])
        guard let links, let link = visitor.link else { return await authenticator.watched(answer, caller) }
        links.watch(link).end(answer)
        return answer
    }

    /// What an operation answers that takes a file, while the file arrives and the session is valid.
    package func answer(
        of name: String,
        for visitor: Visitor,
        _ head: RequestHead,
        path: [String: String],
        reading body: BodyStream
    ) async throws -> HTTPAnswer {
        let (operation, caller) = try permitted(name, visitor)
        let watch: TokenWatch
        if let links, let link = visitor.link {
            watch = links.watch(link)
        } else {
            watch = await authenticator.watch(caller)
        }
        return try await watch.run {
            try await self.answer(operation, for: caller, head, path: path, body: [:], stream: body)
        }
    }

    /// Parses the body of a form with `parse`, and answers with `run`. Large ones take turns with the large bodies of the API.
    package func answer<Value: Sendable>(
        form bytes: [UInt8],
        of account: String,
        parse: @escaping @Sendable ([UInt8]) -> Result<Value, Problem>,
        run: (Value) async -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        try await turns.answer(bytes, of: account, parse: parse, run: run)
    }

    /// The operation of this name, and as whom the visitor may ask for it.
    private func permitted(_ name: String, _ visitor: Visitor) throws(Problem) -> (Operation, AuthenticatedCaller) {
        guard let operation = operations.first(where: { $0.name == name }) else {
            throw Problem(.unexpected, "the API has no operation \(name)")
        }
        guard let refusal = operation.refusal(of: visitor.found.caller) else { return (operation, visitor.found) }
        guard let other = visitor.other, operation.refusal(of: other.caller) == nil else { throw refusal }
        return (operation, other)
    }

    private func answer(
        _ operation: Operation,
        for caller: AuthenticatedCaller,
        _ head: RequestHead,
        path: [String: String],
        body: [String: JSONValue],
        stream: BodyStream? = nil
    ) async throws -> HTTPAnswer {
        var value: JSONValue?
        switch operation.body {
        case .json(let schema), .jsonOrLines(let schema, _):
            let given = JSONValue.object(body)
            let mistakes = schema.mistakes(in: given)
            guard mistakes.isEmpty else { throw Problem(.badBody, mistakes: mistakes) }
            value = given
        case .none, .file: break
        }
        return try await operation.run(
            Call(
                head: head,
                ledger: caller.ledger,
                caller: caller.caller,
                parameters: try Router.parameters(of: operation, head, path: path),
                body: value,
                stream: stream
            )
        )
    }

    /// What people are told of an error. What they are not told is logged.
    package func problem(_ error: any Error) -> Problem { told(error) }
}

/// What a caller may ask of the API.
package struct CallerRights: Sendable, Hashable {
    package let caller: Caller
    /// Whether it is the owner of the cluster, who has two roles.
    package let isOwner: Bool
    private let names: Set<String>

    /// `other` is the same person in another role.
    package init(_ caller: Caller, and other: Caller? = nil, among operations: [Operation]) {
        self.caller = caller
        isOwner = other != nil
        let roles = [caller, other].compactMap(\.self)
        names = Set(operations.filter { operation in roles.contains { operation.refusal(of: $0) == nil } }.map(\.name))
    }

    /// Whether the API would answer the operation of this name.
    package func may(_ operation: String) -> Bool { names.contains(operation) }

    /// Whether the operation of this name would have an effect on what belongs to a submitter. All but operators change
    /// only what is their own.
    package func may(_ operation: String, of submitter: String?) -> Bool {
        may(operation) && (caller.role == .operator || submitter == caller.account)
    }
}
