/// A bucket as a root, or a part of one: `s3://bucket/prefix?region=eu-central-1`.
package struct BucketAddress: Sendable, Hashable {
    package let bucket: String
    /// What the keys of all objects of the root begin with: empty, or with a slash at its end.
    package let prefix: String
    package let options: BucketOptions
    /// In bytes of UTF-8.
    package static let longestKey = 1_024
    private static let scheme = "s3://"
    private static let form = "as in s3://recordings/2024?region=eu-central-1"

    /// Whether `text` is meant as the address of a bucket, right or wrong.
    package static func isMeant(by text: String) -> Bool { text.lowercased().hasPrefix(scheme) }

    package init(_ text: String) throws(AddressError) {
        guard text.hasPrefix(Self.scheme) else {
            throw AddressError("the address of a bucket begins with \(Self.scheme)", hint: Self.form)
        }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = String(place[0])
        if let problem = Self.problem(ofBucket: bucket) {
            throw AddressError("the name of the bucket \(problem)", hint: Self.form)
        }
        let below = place.count > 1 ? NameBelow.trimmed(place[1]) : ""
        if !below.isEmpty, let problem = NameBelow.problem(below) {
            throw AddressError("the prefix \(problem)", hint: Self.form)
        }
        guard below.utf8.count < Self.longestKey / 2 else {
            throw AddressError("the prefix is longer than \(Self.longestKey / 2) bytes")
        }
        prefix = below.isEmpty ? "" : below + "/"
        options = try BucketOptions(parts.count > 1 ? String(parts[1]) : "")
    }

    /// What is wrong with the name of a bucket; `nil` if nothing is.
    private static func problem(ofBucket name: String) -> String? {
        guard !name.isEmpty else { return "is missing" }
        guard !name.hasPrefix("arn:") else { return "is an ARN: access points are not supported" }
        guard (3...63).contains(name.utf8.count) else { return "must have from 3 to 63 characters" }
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isPlain else { return "must consist of lower-case letters, digits, hyphens and full stops" }
        let ends: [UInt8] = [UInt8(ascii: "-"), UInt8(ascii: ".")]
        guard let first = name.utf8.first, let last = name.utf8.last, !ends.contains(first), !ends.contains(last),
            !name.contains("..")
        else { return "must begin and end with a letter or a digit, without two full stops in a row" }
        return nil
    }

    /// The address in the form of `init(_:)`.
    package var text: String {
        let words = options.words
        return "\(Self.scheme)\(bucket)\(prefix.isEmpty ? "" : "/")\(prefix)\(words.isEmpty ? "" : "?")\(words)"
    }

    /// The key of the object at `path` below the root. Throws if no object can have it.
    package func key(of path: String) throws(AddressError) -> String {
        if let problem = NameBelow.problem(path) { throw AddressError("the path \(problem)") }
        let key = prefix + path
        guard key.utf8.count <= Self.longestKey else {
            throw AddressError("the key would have \(key.utf8.count) bytes; a bucket takes \(Self.longestKey)")
        }
        return key
    }

    /// Why no location can name an object at `path`, as what follows "the path"; `nil` if one can.
    package static func problem(ofPath path: String) -> String? { NameBelow.problem(path) }

    /// The path below the root of the object `key`; `nil` if it lies elsewhere, or stands for a folder, or if no path leads
    /// to it.
    package func path(of key: String) -> String? {
        guard key.utf8.starts(with: prefix.utf8) else { return nil }
        let path = String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return NameBelow.problem(path) == nil ? path : nil
    }

    // MARK: - Requests

    /// The server of the bucket in `region`.
    package func server(in region: String) -> StoreServer {
        let server =
            options.endpoint
            ?? StoreServer(
                host: "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
            )
        guard !usesPathStyle else { return server }
        return StoreServer(isSecure: server.isSecure, host: "\(bucket).\(server.host)", port: server.port)
    }

    /// Whether requests name the bucket in their path and not in the server's name.
    ///
    /// Certificates for `*.s3.amazonaws.com` do not cover names with further full stops, and most servers other than AWS's
    /// have no names for their buckets.
    package var usesPathStyle: Bool {
        options.usesPathStyle ?? (options.endpoint != nil || bucket.contains("."))
    }

    /// The path of a request for `key`; for the bucket itself if it is empty.
    package func requestPath(_ key: String) -> String {
        usesPathStyle ? "/\(bucket)/\(key)" : "/\(key)"
    }
}
