/// One request of HTTP/1.1, by `http` or `https`.
package struct WebRequest: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// The first `length` bytes of an open file. Its position does not count, and does not change.
        case file(descriptor: Int32, length: Int64)
    }

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method = "GET"
    package var url: String
    package var headers: [Header] = []
    package var body = Body.none
    /// For the whole exchange; `nil` for streams without an end.
    package var timeLimit: Duration? = .seconds(30)
    /// How long the other side may be silent; `nil` for as long as it likes.
    package var silenceLimit: Duration?
    /// The longest answer that is collected, in bytes.
    package var answerLimit = 16 << 20
    /// Whether an answer that is longer counts as whole without its rest, which is not read. Otherwise it is an error. A body
    /// that is given away piece by piece is never cut.
    package var takesCutAnswers = false
    /// The addresses that may be connected to.
    package var addresses = AddressRule.any
    /// Opens a connection for it. On one that was kept and turns out to be dead, libcurl sends a request a second time,
    /// although the other side may have acted on the first.
    package var isSentOnce = false
    /// Sends the path as it is. Otherwise libcurl takes out `.` and `..`, as browsers do.
    package var keepsPath = false
    /// Connects to the host itself, whatever proxy the environment names.
    package var isDirect = false
    /// Connects to this socket instead of the host that `url` names.
    package var unixSocket: String?
    /// A file with the certificates of authorities to trust, instead of the system's.
    package var authorities: String?

    package init(_ method: String = "GET", url: String) {
        self.method = method
        self.url = url
    }
}

/// The answer to a request.
package struct WebAnswer: Sendable {
    package let status: Int
    /// In the order of the answer.
    package let headers: [WebRequest.Header]
    /// Empty if it was given away piece by piece.
    package let body: [UInt8]
    /// Of the other side, or of the proxy; `nil` before the body and over sockets of this machine.
    package var address: NetworkAddress?
    /// Where a redirect leads, as a whole URL; `nil` for other answers and before the body.
    package var target: String?

    package init(status: Int, headers: [WebRequest.Header], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header of that name, in whatever case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why there is no answer.
package struct WebError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The request cannot be sent as it is: its URL or a header is malformed.
        case badRequest
        case cannotResolve
        case cannotConnect
        /// The host has only addresses that the request's rule forbids.
        case forbiddenAddress
        case cannotSecure
        case timedOut
        /// The connection broke, or the answer was not HTTP.
        case broken
        case answerTooLong
        /// The caller stopped it.
        case stopped
    }

    package let kind: Kind
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }

    /// Whether the request may have reached the other side, which may have acted on it.
    package var mayHaveArrived: Bool {
        switch kind {
        case .timedOut, .broken, .answerTooLong, .stopped: true
        case .badRequest, .cannotResolve, .cannotConnect, .forbiddenAddress, .cannotSecure: false
        }
    }
}
