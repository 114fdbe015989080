package import WebClient

/// A server that objects are read from, range by range. Its calls block.
package protocol RangeServer: Sendable {
    /// Sends a request for a part of `key`, again if it may then succeed. `begin` gets an answer of success without its body,
    /// which then goes to `take` piece by piece. Either ends the call when it returns false, as `stopped`. From the first piece
    /// on, an attempt that breaks is the last one.
    func get(
        _ key: String,
        _ part: RangeRequest,
        stop: WebStop?,
        begin: @escaping (WebAnswer) -> Bool,
        take: @escaping (UnsafeRawBufferPointer) -> Bool
    ) throws(StoreError)

    /// What `answer` says of an object of `byteCount` bytes; `nil` if it is not enough.
    func facts(_ answer: WebAnswer, byteCount: Int64) -> SourceFacts?

    /// What the server has as `key` now; `nil` if it has none.
    func currentFacts(of key: String, stop: WebStop?) throws(StoreError) -> SourceFacts?

    /// The object, for messages.
    func place(_ key: String) -> String

    /// How often an answer that is not what was asked for is asked for again.
    var repetitionsOfWrongAnswers: Int { get }
    /// `store` or `server`, for messages.
    var noun: String { get }
}

/// A part of an object to ask a server for.
package struct RangeRequest: Sendable {
    var range: Range<Int64>
    /// What must still hold of the object.
    var condition: WebRequest.Header?
    /// The most bytes that the answer may have.
    var most: Int64

    var headers: [WebRequest.Header] {
        let range = WebRequest.Header("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
        return [range] + (condition.map { [$0] } ?? [])
    }
}

/// What a server says of an object that is read.
package struct SourceFacts: Sendable, Hashable {
    package let byteCount: Int64
    package let modified: StoreTime?
    /// What differs between two contents, as far as the server shows it; empty if it shows nothing.
    package let version: String
    /// With which a request fails for other contents; `nil` if the server shows nothing to compare.
    let condition: WebRequest.Header?

    /// Whether both are of the same contents, as far as the server shows it.
    package func isSame(as other: SourceFacts) -> Bool { byteCount == other.byteCount && version == other.version }

    init(_ object: ObjectFacts) {
        (byteCount, modified, version) = (object.byteCount, object.modified, object.etag)
        condition = WebRequest.Header("If-Match", object.etag)
    }

    /// A strong ETag counts alone. Otherwise it is the time of the last change, and the weak ETag beside it.
    init(ofWebServer answer: WebAnswer, byteCount: Int64) {
        self.byteCount = byteCount
        let etag = answer.header("etag") ?? ""
        let time = answer.header("last-modified") ?? ""
        modified = StoreTime(httpDate: time)
        if Self.isStrong(etag) {
            version = etag
            condition = WebRequest.Header("If-Match", etag)
        } else {
            version = [time, etag].filter { !$0.isEmpty }.joined(separator: " ")
            condition = modified == nil ? nil : WebRequest.Header("If-Unmodified-Since", time)
        }
    }

    /// Whether `etag` differs between any two contents.
    static func isStrong(_ etag: String) -> Bool { etag.utf8.count > 2 && etag.hasPrefix("\"") && etag.hasSuffix("\"") }
}

extension StoreClient: RangeServer {
    package func get(
        _ key: String,
        _ part: RangeRequest,
        stop: WebStop?,
        begin: @escaping (WebAnswer) -> Bool,
        take: @escaping (UnsafeRawBufferPointer) -> Bool
    ) throws(StoreError) {
        var call = StoreCall("GET", key, "read")
        call.headers = part.headers
        _ = try send(call, stop: stop, begin: begin, take: take)
    }

    package func facts(_ answer: WebAnswer, byteCount: Int64) -> SourceFacts? {
        ObjectFacts(answer).map { SourceFacts($0) }
    }

    package func currentFacts(of key: String, stop: WebStop?) throws(StoreError) -> SourceFacts? {
        try facts(of: key, stop: stop).map { SourceFacts($0) }
    }

    /// A store that answers wrongly does so again.
    package var repetitionsOfWrongAnswers: Int { 0 }
    package var noun: String { "store" }
}

extension RangeServer {
    func unexpected(_ key: String, _ why: String) -> StoreError {
        let detail = "the answer of the \(noun) is not what was asked for: \(why)"
        return StoreError(.unexpectedAnswer, "read", place(key), detail, mayHaveHappened: true)
    }
}
