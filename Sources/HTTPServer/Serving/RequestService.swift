/// What the server does with requests.
package protocol RequestService: Sendable {
    /// Called on the server's thread once the header is complete: must not wait.
    func receive(_ head: RequestHead) -> Reception
    /// The answer to a request that the server itself refuses.
    func refusal(_ status: HTTPStatus, _ why: String) -> HTTPAnswer
}

/// What to do with a request.
package enum Reception: Sendable {
    /// Answer at once, and read no body.
    case answer(HTTPAnswer)
    /// Run, without a body.
    case run(@Sendable () async -> HTTPAnswer)
    /// Ask for permission, then read a body of at most this many bytes.
    case collect(bodyLimit: Int, @Sendable () async -> BodyPermission)
    /// Run, and let the body arrive when it is asked for. An answer that comes first refuses the body.
    case stream(@Sendable (BodyStream) async -> HTTPAnswer)
}

/// Whether a body is read.
package enum BodyPermission: Sendable {
    case refused(HTTPAnswer)
    /// Collect the body in the share of an account, then run.
    case granted(account: String, @Sendable ([UInt8]) async -> HTTPAnswer)
}

/// Limits of the server.
package struct ServerLimits: Sendable {
    /// Connections at once. More wait until the system accepts them.
    package var connections = 12_000
    /// So many of them are kept free: idle ones are cut before they are taken.
    package var spareConnections: Int { max(2, connections / 8) }
    /// Bytes of all bodies that are being collected, and of those of one account.
    package var collectedBytes = 64 << 20
    package var collectedBytesPerAccount = 16 << 20
    /// For a header to be complete, and for a body that is collected, or refused and read to its end.
    package var patience: Duration = .seconds(30)
    /// Bytes in a second that a body which a task reads must have, over `patience`.
    package var leastBytesPerSecond = 1_024
    /// Bytes of a request line and its fields.
    package var headerBytes = 32 << 10
    /// Bytes of a refused body that are read before its connection is cut.
    package var droppedBytes = 1 << 20
    /// The same for a body of at most this length. Many clients and some proxies lose an answer that comes before the end
    /// of the body, so one of ordinary size is read to its end, and nothing of it is kept.
    package var droppedFileBytes = 64 << 20

    package init() {}
}
