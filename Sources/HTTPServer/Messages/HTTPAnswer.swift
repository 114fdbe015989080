/// An answer to a request.
package struct HTTPAnswer: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Part of a file.
        case file(FileFeed)
        /// Events, until one side ends them.
        case events(EventChannel)
    }

    package var status: HTTPStatus
    package var fields: [(name: String, value: String)]
    package var body: Body
    /// Whether the connection is closed after the answer.
    package var closes = false
    /// Whether the connection is cut if the body of the request has not arrived yet. The answer is lost then.
    package var cutsBody = false

    package init(_ status: HTTPStatus, fields: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// Releases what the answer holds. For an answer whose client disconnected before it was sent.
    func drop() {
        if case .events(let channel) = body { channel.close() }
    }

    package static func text(_ text: String, as type: String, _ status: HTTPStatus = .ok) -> HTTPAnswer {
        HTTPAnswer(status, fields: [("Content-Type", type)], body: .bytes(Array(text.utf8)))
    }
}
