package import Ledger
import System

/// The URL of a coordinator's API, as `SLUICE_URL` has it: `http://HOST:PORT`, `https://HOST`, or `unix:/PATH`.
package struct CoordinatorURL: Sendable, Hashable, CustomStringConvertible {
    /// As the user wrote it, without a slash at its end. Contains no password.
    package let description: String
    /// What paths are appended to.
    package let base: String
    /// The path of a socket of this machine.
    package let socket: String?
    /// Whether others on the network could read what is sent.
    package let isReadableByOthers: Bool
    /// Whether it is this machine.
    package let isLocal: Bool

    /// Throws an error that does not quote the text.
    package init(_ text: String) throws(CoordinatorURLError) {
        let wanted = "must be a URL such as https://sluice.example.org, http://localhost:8080 or unix:/run/sluice/http"
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), text.utf8.count <= 2_000 else {
            throw CoordinatorURLError(why: wanted)
        }
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard path.hasPrefix("/"), path.utf8.count <= LocalSocketAddress.longestPath else {
                throw CoordinatorURLError(why: wanted)
            }
            (description, base, socket) = (text, "http://localhost", path)
            (isReadableByOthers, isLocal) = (false, true)
            return
        }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https", text.dropFirst(scheme.count).hasPrefix("://") else {
            throw CoordinatorURLError(why: wanted)
        }
        var rest = text.dropFirst(scheme.count + "://".count)
        while rest.last == "/" { rest.removeLast() }
        let host = rest.prefix { $0 != "/" }
        if host.contains("@") {
            throw CoordinatorURLError(why: "must not contain a name or a password; set SLUICE_TOKEN")
        }
        guard let name = Self.name(inHost: host), !rest.contains(where: { "?#\\\"".contains($0) }) else {
            throw CoordinatorURLError(why: wanted)
        }
        (description, base, socket) = ("\(scheme)://\(rest)", "\(scheme)://\(rest)", nil)
        isLocal = Self.isThisMachine(name)
        isReadableByOthers = scheme == "http" && !isLocal
    }

    /// The name or address without the port; `nil` if the text is not a host.
    private static func name(inHost host: Substring) -> String? {
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            return rest.isEmpty || isPort(rest) ? String(host[host.index(after: host.startIndex)..<end]) : nil
        }
        let name = host.prefix { $0 != ":" }
        let rest = host.dropFirst(name.count)
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return !name.isEmpty && isName && (rest.isEmpty || isPort(rest)) ? String(name) : nil
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
            && UInt16(text.dropFirst()) != nil
    }

    private static func isThisMachine(_ name: String) -> Bool {
        let name = name.lowercased()
        if name == "localhost" || name == "::1" { return true }
        // An address; a name that begins like one, such as 127.0.0.1.example.org, is another machine.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// Why a text is not the URL of a coordinator. Continues a sentence: "must be ...".
package struct CoordinatorURLError: Error, Sendable {
    package let why: String
}

/// How a command reaches a coordinator: its URL, and the token that it shows.
///
/// No description shows the token.
package struct CoordinatorPlace: Sendable {
    package let url: CoordinatorURL
    package let token: AccessToken?
    /// How long to try again before the coordinator counts as unreachable.
    package var reachTimeout: Duration = .seconds(5)
    /// The time limit of a request that sets none.
    package var answerTimeout: Duration = .seconds(30)

    /// The name and version of the program that asks.
    let userAgent: String

    package init(url: CoordinatorURL, token: AccessToken?, userAgent: String) {
        (self.url, self.token, self.userAgent) = (url, token, userAgent)
    }
}
