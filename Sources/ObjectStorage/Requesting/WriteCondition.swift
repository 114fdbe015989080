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
    /// The publication that has made it, by the object's own metadata; `nil` for objects of other programs.
    package let order: String?

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
        order = answer.header(Self.orderHeader)
    }

    /// The header that says which publication makes an object.
    package static let orderHeader = "x-amz-meta-sluice-order"
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
