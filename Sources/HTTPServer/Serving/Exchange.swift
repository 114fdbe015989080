import CMicroHTTPD

/// A request and its answer, on the server's thread.
final class Exchange {
    enum Phase {
        /// The header has not been handled yet.
        case new
        /// A task decides whether its body is read.
        case permitting(limit: Int)
        /// Its body is being collected.
        case collecting(limit: Int, run: @Sendable ([UInt8]) async -> HTTPAnswer)
        /// A task reads the body while it arrives.
        case streaming(BodyStream)
        /// A task makes the answer.
        case waiting
        /// The answer is there and must be queued.
        case answered(HTTPAnswer)
        /// The answer is queued.
        case sending
    }

    let number: UInt64
    /// As it was sent.
    let target: String
    var phase = Phase.new
    var connection: OpaquePointer?
    var isSuspended = false
    /// Whether all of the body has arrived.
    var isComplete = false
    /// What has been collected of the body, and whose share it is in.
    var body: [UInt8] = []
    var account = ""
    /// The length of the body that the header announces.
    var bodyLength = 0
    /// Whether the connection rests until a task asks for the body or refuses it.
    var awaitsDemand = false
    /// Whether a refused body is read and dropped, so that the connection can stay.
    var mayDrop = false
    /// How fast a body arrives that a task reads.
    var pace: Pace?
    /// Bytes that were read of a refused body.
    var dropped = 0
    var task: Task<Void, Never>?

    init(_ number: UInt64, target: String) { (self.number, self.target) = (number, target) }
}

/// The bytes that have arrived since a moment.
struct Pace {
    var since = ContinuousClock.now
    var bytes = 0
    /// The bytes at the last look, if the client had closed its side by then.
    var bytesAtEnd: Int?
}

/// A connection whose next request is awaited, on the server's thread.
final class Visitor {
    let socket: Int32
    /// Where it comes from: see `ClientNetwork`.
    let network: String
    /// Why none of its requests is carried out; `nil` if they are.
    let refusal: String?
    /// When the connection is cut; `nil` while a request is handled. Until then it is idle.
    var deadline: ContinuousClock.Instant?
    /// Whether it has been cut, and the library has not noticed yet.
    var isCut = false

    init(socket: Int32, deadline: ContinuousClock.Instant, refusal: String?) {
        (self.socket, self.deadline, self.refusal) = (socket, deadline, refusal)
        network = ClientNetwork.text(of: socket)
    }
}
