package import WebClient

/// What an object store says is wrong with a request.
package struct StoreProblem: Error, Sendable, Hashable {
    /// Of the answer. One of 200 can have a problem, too: a store may begin to answer before it has finished.
    package let status: Int
    /// As in `NoSuchKey`. Answers without a body, as those to HEAD are, have one that stands for their status.
    package let code: String
    package let message: String
    /// By which the store's operator finds the request.
    package var requestID: String?
    /// Where the bucket is, if the store says it.
    package var region: String?
    /// The server that the store wants to be asked instead.
    package var endpoint: String?
    /// The store's clock.
    package var time: StoreTime?

    /// Cuts texts that are longer than any store's: they go into logs and failures of jobs.
    package init(status: Int, code: String, message: String = "") {
        self.status = status
        self.code = String(code.prefix(100))
        self.message = String(message.prefix(Self.longestMessage))
    }

    /// In characters.
    private static let longestMessage = 1_000

    /// Reads an answer that is not of success.
    package init(_ answer: WebAnswer) {
        // `try?`: an answer that is no XML comes from a proxy, or has no body.
        if let root = try? XMLParser.parse(answer.body), let problem = StoreProblem(root, status: answer.status) {
            self = problem
        } else {
            self.init(status: answer.status, code: Self.code(of: answer.status))
        }
        requestID = requestID ?? answer.header("x-amz-request-id")
        region = region ?? answer.header("x-amz-bucket-region")
        time = time ?? answer.header("date").flatMap { StoreTime(httpDate: $0) }
    }

    /// Reads the XML of an error; `nil` if it is of something else.
    package init?(_ root: XMLElement, status: Int) {
        guard root.name == "Error", let code = root.text(of: "Code"), !code.isEmpty else { return nil }
        self.init(status: status, code: code, message: root.text(of: "Message") ?? "")
        requestID = root.text(of: "RequestId")
        region = root.text(of: "Region")
        endpoint = root.text(of: "Endpoint")
        time = root.text(of: "ServerTime").flatMap { StoreTime(iso8601: $0) }
    }

    /// The usual code of a status.
    static func code(of status: Int) -> String {
        switch status {
        case 301, 307, 308: "PermanentRedirect"
        case 400: "BadRequest"
        case 401, 403: "AccessDenied"
        case 404: "NotFound"
        case 405: "MethodNotAllowed"
        case 409: "Conflict"
        case 412: "PreconditionFailed"
        case 416: "InvalidRange"
        case 429, 503: "SlowDown"
        case 501: "NotImplemented"
        default: "Status\(status)"
        }
    }

    /// Whether another attempt of the same request may succeed.
    package var isTemporary: Bool {
        switch code {
        case "InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout", "OperationAborted", "Throttling",
            "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "RequestThrottled",
            "BandwidthLimitExceeded",
            "TemporarilyUnavailable":
            true
        default: [429, 500, 502, 503, 504].contains(status)
        }
    }

    /// Whether the store thinks that the clock of this machine is wrong.
    package var isClockSkew: Bool {
        ["RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"].contains(code)
    }

    /// Whether credentials have ended, or are those of another store.
    package var concernsCredentials: Bool {
        [
            "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId",
        ].contains(code)
    }
}

extension StoreProblem: CustomStringConvertible {
    /// The store's words. They are not fit for a terminal.
    package var description: String { message.isEmpty ? "\(code) (\(status))" : "\(code) (\(status)): \(message)" }
}
