import Hashing
import System
package import WebClient

/// One operation of an object store on a bucket or an object, before it is addressed and signed.
package struct StoreCall: Sendable {
    /// What is sent. All of it can be sent again.
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        case part(PartFile)
    }

    package var method: String
    /// Empty for the bucket itself.
    package var key: String
    /// For errors: `read`.
    package var operation: String
    package var parameters: [StoreRequest.Parameter] = []
    package var headers: [WebRequest.Header] = []
    package var body = Body.none
    /// For one attempt. Large bodies need longer, so that slow lines can carry them.
    package var timeLimit = StoreCall.usualTimeLimit
    private static let usualTimeLimit: Duration = .seconds(60)
    /// Whether the store may be silent for the whole of `timeLimit`, because it works meanwhile.
    package var mayBeSilent = false
    /// For all attempts together; `nil` for the client's usual one.
    package var deadline: Duration?
    /// Whether a second arrival at the store has another answer than the first. libcurl then does not send it again by
    /// itself, and the client knows that an answer was lost.
    package var isSentOnce = false
    /// In bytes.
    package var answerLimit = 16 << 20
    /// The most attempts; `nil` for the client's usual number.
    package var attempts: Int?

    package init(_ method: String, _ key: String = "", _ operation: String) {
        self.method = method
        self.key = key
        self.operation = operation
    }

    /// The slowest line for which `timeLimit` is made, in bytes a second.
    private static let slowest: Int64 = 32 << 10

    /// Sets the body, and the time that it may take.
    package mutating func send(_ body: Body) {
        self.body = body
        timeLimit = Self.usualTimeLimit + .seconds(byteCount / Self.slowest)
    }

    /// How much longer an attempt may take than one of an ordinary call.
    var furtherTime: Duration { max(.zero, timeLimit - Self.usualTimeLimit) }

    var byteCount: Int64 {
        switch body {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .part(let part): part.byteCount
        }
    }

    /// SHA-256 of the body, in hexadecimal digits.
    var bodyHash: String {
        switch body {
        case .none: StoreRequest.hashOfNothing
        case .bytes(let bytes): StoreRequest.hash(of: bytes)
        case .part(let part): part.hash
        }
    }

    var webBody: WebRequest.Body {
        switch body {
        case .none: method == "PUT" ? .bytes([]) : .none
        case .bytes(let bytes): .bytes(bytes)
        case .part(let part): .file(descriptor: part.descriptor, length: part.byteCount)
        }
    }
}

/// The answer to a call.
package struct StoreAnswer: Sendable {
    package let answer: WebAnswer
    /// Whether the store may have acted on an earlier attempt whose answer was lost.
    package let mayHaveHappenedBefore: Bool

    /// The XML of the body.
    package func root() throws(AnswerError) -> XMLElement {
        do throws(XMLError) {
            return try XMLParser.parse(answer.body)
        } catch {
            throw AnswerError("it is not the XML that was expected: \(error)")
        }
    }
}
