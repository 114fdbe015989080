import Conversion
import Hashing
package import WebClient

/// A request to an object store that is not signed yet.
package struct StoreRequest: Sendable, Hashable {
    /// A parameter behind the question mark. One without a value has an empty one.
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String = "") {
            self.name = name
            self.value = value
        }
    }

    package var method: String
    package var server: StoreServer
    /// Begins with a slash. Not encoded, and never normalised: `a//b` and `a/../b` are names of objects.
    package var path: String
    package var parameters: [Parameter] = []
    /// All of them are signed.
    package var headers: [WebRequest.Header] = []
    /// SHA-256 of the body, in hexadecimal digits.
    package var bodyHash = StoreRequest.hashOfNothing

    package init(_ method: String = "GET", _ server: StoreServer, path: String) {
        self.method = method
        self.server = server
        self.path = path
    }

    /// The SHA-256 of no bytes.
    package static let hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// The digest of `bytes` as it stands in requests.
    package static func hash(of bytes: [UInt8]) -> String { SHA256Hash.digest(of: bytes).hexadecimal }

    /// The characters, beside letters and digits, that are never encoded. A server encodes the rest before it checks the
    /// signature, so a client must not leave more as it is.
    static let unreserved = "-._~"

    /// The path as it is sent and signed: encoded once.
    var encodedPath: String { path.percentEncoded(keeping: Self.unreserved + "/") }

    /// The parameters as they are sent and signed: sorted, each with an equals sign.
    static func encoded(_ parameters: [Parameter]) -> String {
        let pairs: [(name: String, value: String)] = parameters.map { parameter in
            (
                parameter.name.percentEncoded(keeping: Self.unreserved),
                parameter.value.percentEncoded(keeping: Self.unreserved)
            )
        }
        let sorted = pairs.sorted { one, other in
            one.name == other.name
                ? one.value.utf8.lexicographicallyPrecedes(other.value.utf8)
                : one.name.utf8.lexicographicallyPrecedes(other.name.utf8)
        }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// Where it goes.
    package var url: String { url(with: parameters) }

    func url(with parameters: [Parameter]) -> String {
        let query = Self.encoded(parameters)
        return "\(server.scheme)://\(server.authority)\(encodedPath)\(query.isEmpty ? "" : "?")\(query)"
    }
}

/// A server of an object store: how to connect to it, and the name that it is addressed by.
package struct StoreServer: Sendable, Hashable {
    package let isSecure: Bool
    /// In lower case; an address of IPv6 has its brackets.
    package let host: String
    /// `nil` for the usual one.
    package let port: Int?

    package init(isSecure: Bool = true, host: String, port: Int? = nil) {
        self.isSecure = isSecure
        self.host = host.lowercased()
        self.port = port == (isSecure ? 443 : 80) ? nil : port
    }

    package var scheme: String { isSecure ? "https" : "http" }

    /// Whether the host is this machine itself, by a name or an address that cannot lead elsewhere.
    package var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard let bytes = NetworkAddress(isBracketed ? String(host.dropFirst().dropLast()) : host)?.bytes else {
            return false
        }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// As it stands in the header `Host`: libcurl leaves out the usual port.
    package var authority: String { host + (port.map { ":\($0)" } ?? "") }
}

extension [UInt8] {
    /// Two digits for each byte, in lower case.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
