import HTTPServer

/// The cookie of a session: a token, which scripts cannot read and which no other site can have sent.
///
/// The coordinator keeps nothing of a session. So each coordinator of a ledger accepts it, and it ends when its token does.
struct SessionCookie: Sendable {
    /// Browsers do not tell the ports of a machine apart. With the port in its name, two clusters of one machine keep
    /// their sessions apart.
    private let name: String
    private let isSecure: Bool

    init(_ head: RequestHead) {
        let host = head.field("host") ?? ""
        let port = host.lastIndex(of: ":").map { host[host.index(after: $0)...] } ?? ""
        let isPort = !port.isEmpty && port.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        name = isPort ? "sluice_session_\(port)" : "sluice_session"
        // The browser says by which scheme it reached the page, also behind a proxy.
        isSecure = head.field("origin")?.lowercased().hasPrefix("https:") ?? false
    }

    /// The token of a request's session; `nil` without one.
    func token(in head: RequestHead) -> String? {
        for field in head.fields where field.name == "cookie" {
            for item in field.value.split(separator: ";") {
                let sides = item.trimmingSpaces.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2, sides[0] == name, !sides[1].isEmpty else { continue }
                return String(sides[1])
            }
        }
        return nil
    }

    /// The field that begins a session. `token` must be one that was accepted, so it has no character that means
    /// something in a cookie.
    func beginning(_ token: String) -> (name: String, value: String) { field(token, "") }

    /// The field that has the browser forget the session.
    var end: (name: String, value: String) { field("", "; Max-Age=0") }

    private func field(_ value: String, _ more: String) -> (name: String, value: String) {
        let secure = isSecure ? "; Secure" : ""
        return ("Set-Cookie", "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict\(secure)\(more)")
    }
}
