package import WebClient

/// What must hold when a write takes effect. The store decides it together with the write.
package enum WriteCondition: Sendable, Hashable {
    case none
    /// There is no object with this key.
    case absent
    /// The object is the one with this ETag.
    case matches(String)

    package var headers: [WebRequest.Header] {
        switch self {
        case .none: []
        case .absent: [WebRequest.Header("If-None-Match", "*")]
        case .matches(let etag): [WebRequest.Header("If-Match", etag)]
        }
    }
}

/// What a store tells of an object.
package struct ObjectFacts: Sendable, Hashable {
    package let byteCount: Int64
    /// With its quotation marks.
    package let etag: String
    package let modified: StoreTime?
    /// What its metadata says about the publication that has made it; `nil` for objects of other programs.
    package let mark: ObjectMark?
    /// As the store sends it.
    package let contentType: String?
    /// Whether it is encrypted in a way that gives it an ETag that is no digest of its bytes.
    package let hasOpaqueETag: Bool

    /// The publication that has made it; `nil` for objects of other programs.
    package var order: String? { mark?.order }

    /// `nil` if the answer has no length or no ETag.
    init?(_ answer: WebAnswer) {
        guard let etag = answer.header("etag"), !etag.isEmpty else { return nil }
        let range = answer.header("content-range").flatMap { ContentRange($0) }
        guard let count = range?.byteCount ?? answer.header("content-length").flatMap({ Int64($0) }), count >= 0 else {
            return nil
        }
        byteCount = count
        self.etag = etag
        modified = answer.header("last-modified").flatMap { StoreTime(httpDate: $0) }
        mark = ObjectMark(answer)
        contentType = answer.header("content-type")
        let isKeyed = answer.header("x-amz-server-side-encryption")?.hasPrefix("aws:kms") == true
        hasOpaqueETag = isKeyed || answer.header("x-amz-server-side-encryption-customer-algorithm") != nil
    }
}

/// The header `Content-Range`, as in `bytes 0-99/1000`.
struct ContentRange: Hashable {
    /// The first byte and the one behind the last; `nil` if the store has none to send.
    let bytes: Range<Int64>?
    /// Of the whole object.
    let byteCount: Int64

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int64(parts[1]), count >= 0 else { return nil }
        byteCount = count
        guard parts[0] != "*" else {
            bytes = nil
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first >= 0, last >= first, last < count else {
            return nil
        }
        bytes = first..<(last + 1)
    }
}
