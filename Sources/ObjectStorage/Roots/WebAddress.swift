import Conversion

/// A folder of a web server as a root from which sources are read: `https://host/prefix`.
package struct WebAddress: Sendable, Hashable {
    package let server: StoreServer
    /// Not encoded. Empty, or with a slash at its end and none at its beginning.
    package let prefix: String
    private static let scheme = "https://"
    private static let form = "as in https://media.example.org/archive"

    /// Whether `text` is meant as an address of a web server, right or wrong.
    package static func isMeant(by text: String) -> Bool {
        let lower = text.lowercased()
        return lower.hasPrefix(scheme) || lower.hasPrefix("http://")
    }

    package init(_ text: String) throws(AddressError) {
        guard text.lowercased().hasPrefix(Self.scheme) else {
            throw AddressError("a root on a web server begins with \(Self.scheme)", hint: Self.form)
        }
        let rest = text.dropFirst(Self.scheme.count)
        guard !rest.contains("?"), !rest.contains("#") else {
            throw AddressError("the address of a root contains a query or a fragment", hint: Self.form)
        }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard !parts[0].contains("@") else {
            throw AddressError("the address contains a user name, which commands and logs would show", hint: Self.form)
        }
        guard let server = StoreServer(isSecure: true, authority: String(parts[0])) else {
            throw AddressError("the address names no host", hint: Self.form)
        }
        self.server = server
        guard let below = NameBelow.trimmed(parts.count > 1 ? parts[1] : "").percentDecoded else {
            throw AddressError("the path is not percent-encoded text", hint: Self.form)
        }
        if !below.isEmpty, let problem = NameBelow.problem(below) {
            throw AddressError("the path \(problem)", hint: Self.form)
        }
        prefix = below.isEmpty ? "" : below + "/"
    }

    /// The address in the form of `init(_:)`.
    package var text: String { "\(server.scheme)://\(server.authority)/\(Self.encoded(prefix))" }

    /// The URL of the file at `path` below the root. Throws if no file can be there.
    package func url(of path: String) throws(AddressError) -> String {
        if let problem = NameBelow.problem(path) { throw AddressError("the path \(problem)") }
        return text + Self.encoded(path)
    }

    private static func encoded(_ path: String) -> String {
        path.percentEncoded(keeping: StoreRequest.unreserved + "/")
    }
}
