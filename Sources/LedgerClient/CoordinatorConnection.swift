import Conversion
import Ledger
import System
import WebClient

/// Sends requests to a coordinator, one after the other, and checks that a coordinator has answered.
///
/// Requests block, so that they have a thread.
actor CoordinatorConnection {
    /// A request below the API's path.
    struct Request: Sendable {
        var method = "GET"
        let path: String
        var query: [(name: String, value: String)] = []
        var headers: [WebRequest.Header] = []
        var body = WebRequest.Body.none
        var timeLimit: Duration?
        /// For a file, which may take any time: how long nothing may move. Replaces the time limit.
        var silenceLimit: Duration?
        /// Whether a second time would change something, or change what the answer says.
        var isSentOnce = false
        /// What it is for, as the ledger's errors say it: `list jobs`.
        let operation: String
    }

    private let executor = QueueExecutor("sluice.coordinator")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let place: CoordinatorPlace
    private var connection: WebConnection?
    /// The longest answer: a page of a thousand jobs with long names has some megabytes.
    private static let answerLimit = 64 << 20

    init(_ place: CoordinatorPlace) { self.place = place }

    /// The body of an answer that is JSON; `nil` if the API says that there is no such thing. Throws a `LedgerError`.
    ///
    /// `sent` is told how many bytes of the request's body have been sent.
    func send(_ request: Request, sent: (@Sendable (Int64) -> Void)? = nil) throws -> [UInt8]? {
        let answer = try answer(to: request) { connection, web throws(WebError) in
            try connection.send(web, sent: sent, isStopped: { Task.isCancelled })
        }
        if (200..<300).contains(answer.status), answer.type == "application/json" { return answer.body }
        guard let refusal = try refusal(answer, of: request) else { return nil }
        throw refusal
    }

    /// Sends a request whose answer is a file. `begin` gets the answer without its body, and `take` the bytes; each returns
    /// whether to go on. Returns false if one of them did not. Throws as `send`, and if there is no such thing.
    func receive(
        _ request: Request,
        begin: @escaping @Sendable (WebAnswer) -> Bool,
        take: @escaping @Sendable (UnsafeRawBufferPointer) -> Bool
    ) throws -> Bool {
        let wasEnded = Latest(false)
        let answer: WebAnswer
        do {
            answer = try self.answer(to: request) { connection, web throws(WebError) in
                try connection.send(
                    web,
                    begin: { answer in
                        let goesOn = begin(answer)
                        if !goesOn { wasEnded.value = true }
                        return goesOn
                    },
                    take: { bytes in
                        let goesOn = take(bytes)
                        if !goesOn { wasEnded.value = true }
                        return goesOn
                    },
                    isStopped: { Task.isCancelled }
                )
            }
        } catch let error as LedgerError {
            if wasEnded.value { return false }
            throw error
        }
        if (200..<300).contains(answer.status) { return true }
        guard let refusal = try refusal(answer, of: request) else {
            throw LedgerError(.ledgerRefused, during: request.operation, "the ledger knows no such thing")
        }
        throw refusal
    }

    private func answer(
        to request: Request,
        _ send: (WebConnection, WebRequest) throws(WebError) -> WebAnswer
    ) throws -> WebAnswer {
        do throws(WebError) {
            return try send(try opened(), Self.web(request, at: place))
        } catch {
            // A connection in an unknown state is not used again.
            connection = nil
            throw LedgerError(error, to: place.url, during: request.operation)
        }
    }

    /// What an answer says that is not the wanted one; `nil` if the API says that there is no such thing.
    private func refusal(_ answer: WebAnswer, of request: Request) throws -> (any Error)? {
        switch (answer.status, answer.type) {
        case (400..<600, "application/problem+json"):
            let problem = try ProblemReading.read(answer.body, from: place.url, during: request.operation)
            if problem.code == "no_such_thing", answer.status == 404 {
                // A path that this coordinator does not know is another thing.
                guard problem.detail == ProblemReading.unknownPath else { return nil }
                return LedgerError(
                    .coordinatorUnexpectedAnswer,
                    during: request.operation,
                    "the coordinator at \(place.url) cannot do this",
                    hint: "upgrade the coordinator to the version of this command"
                )
            }
            if request.silenceLimit != nil, let refusal = FileRefusal(problem, status: answer.status) { return refusal }
            return problem.error(during: request.operation)
        case (502...504, _):
            // A proxy whose coordinator is being restarted.
            return LedgerError(
                .ledgerCannotReach,
                during: request.operation,
                "the coordinator at \(place.url) is away (status \(answer.status))",
                hint: Self.hint,
                // With the other two, a proxy has passed the request on and got no answer.
                mayHaveHappened: answer.status != 503
            )
        default:
            return LedgerError(
                .coordinatorUnexpectedAnswer,
                during: request.operation,
                "what answers at \(place.url) is not the API of a coordinator (status \(answer.status), "
                    + "\(answer.type.isEmpty ? "no type" : String(answer.type.prefix(100))))"
            )
        }
    }

    private func opened() throws(WebError) -> WebConnection {
        if let connection { return connection }
        let new = try WebConnection()
        connection = new
        return new
    }

    static let hint = "check that a coordinator serves the API there (sluice coordinator --listen)"

    static func web(_ request: Request, at place: CoordinatorPlace) -> WebRequest {
        var url = place.url.base + request.path
        for (index, item) in request.query.enumerated() {
            url += (index == 0 ? "?" : "&") + item.name + "=" + escaped(item.value)
        }
        var web = WebRequest(request.method, url: url)
        web.headers = [
            .init("Accept", "application/json, application/problem+json"),
            .init("User-Agent", place.userAgent),
        ]
        if let token = place.token { web.headers.append(.init("Authorization", "Bearer \(token.text)")) }
        web.headers += request.headers
        web.body = request.body
        web.timeLimit = request.silenceLimit == nil ? request.timeLimit ?? place.answerTimeout : nil
        web.silenceLimit = request.silenceLimit
        web.answerLimit = answerLimit
        web.isSentOnce = request.isSentOnce
        web.unixSocket = place.url.socket
        // Tokens in clear text are not for a proxy, either.
        web.isDirect = place.url.isLocal
        return web
    }

    /// A value in a query.
    static func escaped(_ text: String) -> String { text.percentEncoded(keeping: "-._~,") }
}

extension WebAnswer {
    /// The type of the body, without parameters, in small letters; empty if the answer names none.
    fileprivate var type: String { (header("Content-Type") ?? "").prefix { $0 != ";" }.lowercased() }
}

extension LedgerError {
    /// Why there is no answer of a coordinator.
    init(_ error: WebError, to url: CoordinatorURL, during operation: String) {
        let code: FailureCode =
            switch error.kind {
            case .cannotResolve, .cannotConnect: .ledgerCannotReach
            case .timedOut: .ledgerTimedOut
            case .broken: .ledgerConnectionLost
            case .stopped: .cancelled
            case .badRequest, .cannotSecure, .forbiddenAddress: .ledgerBadConfiguration
            case .answerTooLong: .coordinatorUnexpectedAnswer
            }
        let hint: String? =
            switch error.kind {
            case .cannotResolve, .cannotConnect, .timedOut, .broken: CoordinatorConnection.hint
            case .cannotSecure: "the certificate must be valid for the URL's host, and signed by a known authority"
            case .badRequest, .forbiddenAddress, .answerTooLong, .stopped: nil
            }
        self.init(
            code,
            during: operation,
            "no answer of the coordinator at \(url): \(error.message)",
            hint: hint,
            mayHaveHappened: error.mayHaveArrived
        )
    }
}
