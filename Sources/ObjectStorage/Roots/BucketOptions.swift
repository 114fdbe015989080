import Conversion

/// How a bucket is reached, and how objects are stored in it.
package struct BucketOptions: Sendable, Hashable {
    /// The server of a store that is not AWS's, without a bucket.
    package var endpoint: StoreServer?
    /// `nil` for the region of the environment or of the shared configuration.
    package var region: String?
    /// Whether requests name the bucket in their path; `nil` for what suits the endpoint.
    package var usesPathStyle: Bool?
    package var storageClass: String?
    package var encryption: Encryption?
    /// With which `aws:kms` encrypts; `nil` for the bucket's key.
    package var keyOfEncryption: String?
    /// Whether requests are paid by the account that sends them.
    package var paysForRequests = false
    package var accessControl: String?
    /// The profile of the shared configuration that has the credentials.
    package var profile: String?

    /// What a server encrypts objects with.
    package enum Encryption: String, Sendable, Hashable, CaseIterable {
        case ownKeys = "AES256"
        case keyService = "aws:kms"
        case keyServiceTwice = "aws:kms:dsse"
    }

    package static let accessControls = [
        "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read", "bucket-owner-read",
        "bucket-owner-full-control",
    ]

    private static let names = [
        "endpoint", "region", "path-style", "storage-class", "sse", "kms-key", "request-payer", "acl", "profile",
    ]

    package init() {}

    /// Reads `region=eu-central-1&path-style=no`: names and values, which may be percent-encoded, separated by `&`.
    package init(_ text: String) throws(AddressError) {
        self.init()
        var seen: Set<String> = []
        for word in text.split(separator: "&", omittingEmptySubsequences: true) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard seen.insert(name).inserted else { throw AddressError("\(name) is given twice") }
            guard let value = parts.count > 1 ? String(parts[1]).percentDecoded : "" else {
                throw AddressError("the value of \(name) is not percent-encoded text")
            }
            guard !value.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else {
                throw AddressError("the value of \(name) contains a space or a character that is not of ASCII")
            }
            try set(name, value)
        }
        guard keyOfEncryption == nil || encryption == .keyService || encryption == .keyServiceTwice else {
            throw AddressError("kms-key needs sse=aws:kms")
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(AddressError) {
        switch name {
        case "endpoint": endpoint = try Self.server(value)
        case "region": region = try Self.word(name, value, "eu-central-1") { $0.isASCII && !$0.isUppercase }
        case "path-style": usesPathStyle = try Self.truth(name, value)
        case "storage-class":
            storageClass = try Self.word(name, value, "STANDARD_IA") { $0.isASCII && !$0.isLowercase }
        case "sse":
            guard let found = Encryption(rawValue: value) else {
                throw Self.notOne(of: Encryption.allCases.map(\.rawValue), name)
            }
            encryption = found
        case "kms-key":
            guard !value.isEmpty else { throw AddressError("kms-key has no value", hint: "the id or the ARN of a key") }
            keyOfEncryption = value
        case "request-payer":
            guard ["", "requester"].contains(value) else { throw Self.notOne(of: ["requester"], name) }
            paysForRequests = true
        case "acl":
            guard Self.accessControls.contains(value) else { throw Self.notOne(of: Self.accessControls, name) }
            accessControl = value
        case "profile":
            guard !value.isEmpty else { throw AddressError("profile has no value", hint: "a name of ~/.aws/config") }
            profile = value
        default:
            let known = Self.names.joined(separator: ", ")
            throw AddressError("\(name.plain) is no option of a bucket", hint: "options are \(known)")
        }
    }

    private static func notOne(of values: [String], _ name: String) -> AddressError {
        AddressError("\(name) must be one of \(values.joined(separator: ", "))")
    }

    private static func truth(_ name: String, _ value: String) throws(AddressError) -> Bool {
        switch value {
        case "", "yes", "true": return true
        case "no", "false": return false
        default: throw notOne(of: ["yes", "no"], name)
        }
    }

    private static func word(
        _ name: String,
        _ value: String,
        _ example: String,
        _ isPermitted: (Character) -> Bool
    ) throws(AddressError) -> String {
        guard isWord(value), value.allSatisfy(isPermitted) else {
            throw AddressError("the value of \(name) is not a word like \(example)")
        }
        return value
    }

    /// Whether `text` consists of letters and digits of ASCII, hyphens and underscores, as names of regions do.
    static func isWord(_ text: String) -> Bool {
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        return isPlain && !text.isEmpty && text.utf8.count <= 64
    }

    /// Reads `https://host:port`.
    static func server(_ text: String) throws(AddressError) -> StoreServer {
        let hint = "as in endpoint=https://s3.example.org:9000"
        let lower = text.lowercased()
        let isSecure = lower.hasPrefix("https://")
        guard isSecure || lower.hasPrefix("http://") else {
            throw AddressError("the endpoint begins with neither https:// nor http://", hint: hint)
        }
        let rest = NameBelow.trimmed(lower.dropFirst(isSecure ? 8 : 7))
        guard let server = StoreServer(isSecure: isSecure, authority: rest) else {
            throw AddressError("the endpoint is not a host with an optional port", hint: hint)
        }
        return server
    }

    /// The options in the form of `init(_:)`, those that have a value.
    package var words: String {
        let values: [(String, String?)] = [
            ("endpoint", endpoint.map { "\($0.scheme)://\($0.authority)" }), ("region", region),
            ("path-style", usesPathStyle.map { $0 ? "yes" : "no" }), ("storage-class", storageClass),
            ("sse", encryption?.rawValue), ("kms-key", keyOfEncryption),
            ("request-payer", paysForRequests ? "requester" : nil), ("acl", accessControl), ("profile", profile),
        ]
        let words = values.compactMap { name, value in
            value.map { "\(name)=\($0.percentEncoded(keeping: "-._~:/[]"))" }
        }
        return words.joined(separator: "&")
    }
}

extension StoreServer {
    /// Reads `host`, `host:port` and `[::1]:port`; `nil` for anything else.
    package init?(isSecure: Bool, authority: String) {
        var (host, port) = (authority, Int?.none)
        let isAddress = authority.hasPrefix("[")
        if let colon = authority.lastIndex(of: ":"), !isAddress || !authority[colon...].contains("]") {
            let digits = authority[authority.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int(digits), (1...65_535).contains(number)
            else { return nil }
            (host, port) = (String(authority[..<colon]), number)
        }
        let others = isAddress ? "[]:.%" : "-._"
        let isHost = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: others.utf8.contains(byte)
            }
        }
        guard !host.isEmpty, host.utf8.count <= 255, isHost, !isAddress || host.hasSuffix("]") else { return nil }
        self.init(isSecure: isSecure, host: host, port: port)
    }
}

extension String {
    /// The text with the bytes that `%` and two digits stand for; `nil` if the result is no text.
    package var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(NameEncoding.digit), let low = rest.next().flatMap(NameEncoding.digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
