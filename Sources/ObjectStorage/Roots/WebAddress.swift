import Conversion

/// A folder of a web server as a root from which sources are read: `https://host/prefix`.
package struct WebAddress: Sendable, Hashable {
    package let server: StoreServer
    /// Not encoded. Empty, or with a slash at its end and none at its beginning.
    package let prefix: String
    /// Whether redirects may lead from an address of the internet to one that is not.
    package let followsToPrivateAddresses: Bool
    private static let form = "as in https://media.example.org/archive"
    private static let plainOption = "allow-http"
    private static let privateOption = "allow-private"

    /// Whether `text` is meant as an address of a web server, right or wrong.
    package static func isMeant(by text: String) -> Bool {
        let lower = text.lowercased()
        return lower.hasPrefix("https://") || lower.hasPrefix("http://")
    }

    package init(_ text: String) throws(AddressError) {
        let isSecure = text.lowercased().hasPrefix("https://")
        guard Self.isMeant(by: text) else {
            throw AddressError("a root on a web server begins with https://", hint: Self.form)
        }
        let halves = text.dropFirst(isSecure ? 8 : 7).split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let parts = halves[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard !parts[0].contains("@") else {
            throw AddressError(
                "the address contains a user name, which commands and logs would show",
                hint: "leave out the user name and the password: web servers are read without credentials"
            )
        }
        let options = try Self.options(halves.count > 1 ? halves[1] : "")
        guard isSecure || options.contains(Self.plainOption) else {
            throw AddressError(
                "a root on a web server begins with https://",
                hint: "http:// shows and changes sources on the way; ?\(Self.plainOption) at the end permits it"
            )
        }
        guard !text.contains("#") else {
            throw AddressError("the address of a root contains a fragment", hint: "%23 stands for # in a name")
        }
        guard let server = StoreServer(isSecure: isSecure, authority: String(parts[0])) else {
            throw AddressError("the address names no host", hint: Self.form)
        }
        self.server = server
        let path = parts.count > 1 ? parts[1] : ""
        guard let below = NameBelow.trimmed(path).percentDecoded else {
            throw AddressError("the path is not percent-encoded text", hint: Self.form)
        }
        // Decoded, it would stand between two names, and the server would be asked for another path.
        guard !path.lowercased().contains("%2f") else {
            throw AddressError(
                "the path contains a slash within a name (%2F), which no location can have",
                hint: Self.form
            )
        }
        if !below.isEmpty, let problem = NameBelow.problem(below) {
            throw AddressError("the path \(problem)", hint: Self.form)
        }
        prefix = below.isEmpty ? "" : below + "/"
        followsToPrivateAddresses = options.contains(Self.privateOption)
    }

    private static func options(_ text: Substring) throws(AddressError) -> Set<String> {
        let words: [String] = text.split(separator: "&").map { String($0) }
        for word in words where ![plainOption, privateOption].contains(word) {
            throw AddressError(
                "\(word.plain) is no option of a root on a web server",
                hint: "options are \(plainOption), \(privateOption); %3F stands for ? in a name"
            )
        }
        return Set(words)
    }

    /// The address in the form of `init(_:)`.
    package var text: String {
        let options = [server.isSecure ? nil : Self.plainOption, followsToPrivateAddresses ? Self.privateOption : nil]
        let words = options.compactMap { $0 }.joined(separator: "&")
        return folder + (words.isEmpty ? "" : "?") + words
    }

    /// The URL of the folder itself, with a slash at its end.
    package var folder: String { "\(server.scheme)://\(server.authority)/\(Self.encoded(prefix))" }

    /// The URL of the file at `path` below the root. Throws if no file can be there.
    package func url(of path: String) throws(AddressError) -> String {
        if let problem = NameBelow.problem(path) { throw AddressError("the path \(problem)") }
        return folder + Self.encoded(path)
    }

    private static func encoded(_ path: String) -> String {
        path.percentEncoded(keeping: StoreRequest.unreserved + "/")
    }
}
