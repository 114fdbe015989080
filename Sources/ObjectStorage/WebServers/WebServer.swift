package import WebClient

/// The web server of a root. Its calls block; any number of threads may make them.
package final class WebServer: Sendable {
    package let address: WebAddress
    let patience: StoreClient.Patience
    let wait: @Sendable (Duration) -> Void
    private let isPublic: @Sendable (NetworkAddress) -> Bool
    private let connections = ConnectionPool()
    /// Those of routes that are bound to addresses of the internet. A connection that was used otherwise would not be kept.
    private let boundConnections = ConnectionPool()
    /// An error page is not read further.
    private static let pageLimit = 64 << 10
    /// The slowest line for which time limits are made, in bytes a second.
    private static let slowest: Int64 = 128 << 10

    /// Connects to nothing yet. `wait` blocks between two attempts. `isPublic` says which addresses are of the internet.
    package init(
        _ address: WebAddress,
        patience: StoreClient.Patience = StoreClient.Patience(),
        isPublic: @escaping @Sendable (NetworkAddress) -> Bool = { $0.isPublic },
        wait: @escaping @Sendable (Duration) -> Void = BlockingPause.pause
    ) {
        (self.address, self.patience, self.isPublic, self.wait) = (address, patience, isPublic, wait)
    }

    /// Sends one GET for what `route` leads to, and returns the answer whatever its status is.
    func ask(
        _ route: WebRoute,
        headers: [WebRequest.Header],
        most: Int64 = 0,
        until deadline: ContinuousClock.Instant,
        stop: WebStop? = nil,
        begin: ((WebAnswer) -> Bool)? = nil,
        take: ((UnsafeRawBufferPointer) -> Bool)? = nil
    ) throws(WebError) -> WebAnswer {
        var request = WebRequest(url: route.url)
        request.headers =
            headers + [
                WebRequest.Header("Accept-Encoding", "identity"), WebRequest.Header("User-Agent", "Sluice"),
            ]
        request.addresses = route.addresses
        // A proxy would connect in our place, to addresses that are not seen here.
        request.isDirect = true
        request.keepsPath = true
        request.silenceLimit = patience.silenceLimit
        (request.answerLimit, request.takesCutAnswers) = (Self.pageLimit, true)
        // A long answer that arrives may end after the deadline. libcurl takes a limit of 0 for none.
        let rest = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline))
        request.timeLimit = min(.seconds(60), rest) + .seconds(most / Self.slowest)
        let connections = route.addresses == .any ? connections : boundConnections
        let connection = try connections.borrow()
        let answer = try connection.web.send(request, begin: begin, take: take, stop: stop)
        // One that was cut has a rest on it.
        if (200..<300).contains(answer.status), take != nil { connections.giveBack(connection) }
        return answer
    }

    /// Where a redirect leads.
    func follow(_ answer: WebAnswer, from route: WebRoute) throws(WebRoute.Refusal) -> WebRoute {
        try WebRoute(
            behind: route,
            answer,
            isPublic: answer.address.map(isPublic) ?? true,
            mayBePrivate: address.followsToPrivateAddresses
        )
    }

    /// Why the server cannot be used now; `nil` if it answers. What it answers about the folder itself says nothing about the
    /// files below.
    package func problem() -> StoreError? {
        let route = WebRoute(to: address.folder)
        let deadline = ContinuousClock.now + patience.deadline
        var attempt = 1
        while true {
            let error: StoreError
            do throws(WebError) {
                let answer = try ask(route, headers: [Self.firstByte], until: deadline)
                guard Self.isTemporary(answer.status) else { return nil }
                error = refusal(answer, "ask", address.folder, route)
            } catch let broken {
                error = failure(broken, "ask", address.folder, route)
            }
            guard attempt < patience.attempts, error.kind == .unavailable else { return error }
            attempt += 1
            wait(patience.firstWait)
        }
    }

    static let firstByte = WebRequest.Header("Range", "bytes=0-0")
    static let redirects = [301, 302, 303, 307, 308]

    /// Whether a later request may have another answer.
    static func isTemporary(_ status: Int) -> Bool { status >= 500 || [408, 425, 429].contains(status) }

    // MARK: - Failures

    /// The host that `route` leads to, for messages.
    private func host(_ route: WebRoute) -> String {
        let root = address.server.authority
        return route.redirects == 0 ? root : "a host behind a redirect of \(root)"
    }

    func failure(_ error: WebError, _ operation: String, _ place: String, _ route: WebRoute) -> StoreError {
        var kind = StoreError.Kind(error)
        var message = error.message
        var hint: String?
        switch error.kind {
        case .forbiddenAddress:
            kind = .notServed
            // Owners of jobs read it, and may not know which addresses names have here.
            message = "its address is not one of the internet"
            hint = "the option allow-private of the root permits redirects to such addresses"
        case .cannotSecure: hint = "check the certificate of the server, and the authorities that this machine trusts"
        default: break
        }
        return StoreError(kind, operation, place, "\(host(route)): \(message)", hint: hint)
    }

    func refusal(_ answer: WebAnswer, _ operation: String, _ place: String, _ route: WebRoute) -> StoreError {
        let kind: StoreError.Kind =
            switch answer.status {
            case 404, 410: .noSuchObject
            case 401, 403, 407: .accessDenied
            case 412: .conditionFailed
            case let status where Self.isTemporary(status): .unavailable
            default: .refused
            }
        let problem = StoreProblem(
            status: answer.status,
            code: StoreProblem.code(of: answer.status),
            message: answer.header("content-range") ?? ""
        )
        let detail = "\(host(route)) answers with the status \(answer.status)"
        return StoreError(kind, operation, place, detail, problem: problem)
    }
}
