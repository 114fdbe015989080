/// An object as a list shows it.
package struct ObjectEntry: Sendable, Hashable {
    package let key: String
    package let byteCount: Int64
    /// With its quotation marks.
    package let etag: String
    package let modified: StoreTime?
    /// `nil` for the store's usual one.
    package let storageClass: String?
}

/// A part of the list of a bucket, in the order of UTF-8.
package struct ObjectPage: Sendable, Hashable {
    package let objects: [ObjectEntry]
    /// What the names of further objects begin with, up to the delimiter of the request.
    package let prefixes: [String]
    /// With which the next page is asked for; `nil` on the last one.
    package let next: String?

    /// Reads an answer to ListObjectsV2. The request has asked for encoded names.
    package init(_ root: XMLElement) throws(AnswerError) {
        guard root.name == "ListBucketResult" else { throw AnswerError("it is no list of objects") }
        let names = try NameEncoding(root)
        var objects: [ObjectEntry] = []
        for item in root.all("Contents") {
            guard let key = item.text(of: "Key"), let size = item.text(of: "Size"), let count = Int64(size), count >= 0
            else { throw AnswerError("an object has no key or no size") }
            objects.append(
                ObjectEntry(
                    key: try names.decode(key),
                    byteCount: count,
                    etag: item.text(of: "ETag").map(Self.quoted) ?? "",
                    modified: item.text(of: "LastModified").flatMap { StoreTime(iso8601: $0) },
                    storageClass: item.text(of: "StorageClass")
                )
            )
        }
        self.objects = objects
        var prefixes: [String] = []
        for item in root.all("CommonPrefixes") {
            guard let prefix = item.text(of: "Prefix") else { throw AnswerError("a prefix has no name") }
            prefixes.append(try names.decode(prefix))
        }
        self.prefixes = prefixes
        next = try Self.next(root, "NextContinuationToken")
    }

    /// `etag` with its quotation marks, which some stores leave out of XML.
    static func quoted(_ etag: String) -> String {
        etag.isEmpty || etag.hasSuffix("\"") ? etag : "\"\(etag)\""
    }

    /// The text with which the next page is asked for; `nil` on the last page.
    static func next(_ root: XMLElement, _ name: String) throws(AnswerError) -> String? {
        guard root.text(of: "IsTruncated") == "true" else { return nil }
        guard let next = root.text(of: name), !next.isEmpty else { throw AnswerError("the next page has no \(name)") }
        return next
    }
}

/// Why an answer of success is not what the request was for.
package struct AnswerError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// How a list writes names. XML has no form for some characters that names may contain.
struct NameEncoding {
    private let isEncoded: Bool

    init(_ root: XMLElement) throws(AnswerError) {
        switch root.text(of: "EncodingType") {
        case nil, "": isEncoded = false
        case "url": isEncoded = true
        case let other?: throw AnswerError("names have the unknown encoding \(other)")
        }
    }

    func decode(_ name: String) throws(AnswerError) -> String {
        guard isEncoded else { return name }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.utf8.count)
        var rest = name.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            // Encoded like a form: a plus sign itself is `%2B`.
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Self.digit), let low = rest.next().flatMap(Self.digit) else {
                    throw AnswerError("a name is not encoded as the list says")
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw AnswerError("a name is not UTF-8") }
        return text
    }

    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
