import Hashing
import WebClient

/// What an object says in its own metadata about the publication that has made it.
///
/// Copies of an object keep its metadata. So it names the key as well: a copy under another key is not the output.
package struct ObjectMark: Sendable, Hashable {
    package let order: String
    /// SHA-256 of the key, in hexadecimal digits: metadata has no form for all characters of a key. `nil` if an object has
    /// none.
    package let keyHash: String?
    /// SHA-256 of the bytes, in hexadecimal digits. `nil` for uploads in parts, which are marked before their bytes are known.
    package var contentHash: String?

    package init(order: String, key: String) {
        self.order = order
        keyHash = StoreRequest.hash(of: Array(key.utf8))
    }

    /// `nil` if the answer names no order.
    init?(_ answer: WebAnswer) {
        guard let order = answer.header(Self.orderHeader) else { return nil }
        self.order = order
        keyHash = answer.header(Self.keyHeader)
        contentHash = answer.header(Self.contentHeader)
    }

    private static let orderHeader = "x-amz-meta-sluice-order"
    private static let keyHeader = "x-amz-meta-sluice-key"
    private static let contentHeader = "x-amz-meta-sluice-sha256"

    /// The headers of the request that makes the object.
    var headers: [WebRequest.Header] {
        let values = [(Self.orderHeader, order), (Self.keyHeader, keyHash), (Self.contentHeader, contentHash)]
        return values.compactMap { name, value in value.map { WebRequest.Header(name, $0) } }
    }
}

/// The ETag that stores give an object that was made of parts: the MD5 of the MD5s of its parts, and their number.
struct MultipartETag: Sendable, Hashable {
    /// Without quotation marks: of the bytes of the MD5s, as AWS makes it, and of their hexadecimal digits, as Garage does.
    let texts: [String]

    /// `nil` if the ETags of `parts` are no digests, or if libcrypto refuses MD5.
    init?(_ parts: [UploadedPart]) {
        var digests: [UInt8] = []
        for part in parts {
            guard let digest = Self.digest(part.etag) else { return nil }
            digests += digest
        }
        let digits = parts.flatMap { $0.etag.lowercased().utf8.filter { $0 != UInt8(ascii: "\"") } }
        guard let ofBytes = MD5Digest.of(digests), let ofDigits = MD5Digest.of(digits) else { return nil }
        texts = [ofBytes, ofDigits].map { "\($0.hexadecimal)-\(parts.count)" }
    }

    /// Whether `etag` has the form of such an ETag.
    static func isMeant(by etag: String) -> Bool {
        let words = etag.filter { $0 != "\"" }.split(separator: "-", omittingEmptySubsequences: false)
        return words.count == 2 && digest(words[0]) != nil && (Int(words[1]) ?? 0) > 0
    }

    /// The bytes of an ETag that has the form of an MD5; `nil` for others.
    private static func digest(_ etag: some StringProtocol) -> [UInt8]? {
        let digits = Array(etag.lowercased().utf8.filter { $0 != UInt8(ascii: "\"") })
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: 32, by: 2) {
            guard let high = NameEncoding.digit(digits[place]), let low = NameEncoding.digit(digits[place + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension FinishedOutput {
    /// Whether the object with these facts is this output, and not one of another attempt, key or content.
    ///
    /// Where the store computes ETags as AWS or Garage do, the parts tell which one the object must have. Where it does not, or
    /// encrypts with keys of its own, order, key and length decide.
    func isMade(_ facts: ObjectFacts) -> Bool {
        guard let mark = facts.mark, mark.order == order, facts.byteCount == byteCount,
            mark.keyHash == ObjectMark(order: order, key: key).keyHash
        else { return false }
        switch bytes {
        case .small(let part): return mark.contentHash == part.hash
        case .upload(_, let parts):
            guard !facts.hasOpaqueETag, MultipartETag.isMeant(by: facts.etag), let expected = MultipartETag(parts)
            else { return true }
            return expected.texts.contains(facts.etag.lowercased().filter { $0 != "\"" })
        }
    }
}
