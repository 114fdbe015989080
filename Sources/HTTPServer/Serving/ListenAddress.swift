/// Where a server listens.
package enum ListenAddress: Sendable, Hashable {
    /// A socket in the file system.
    case local(path: String)
    /// An IP address and a port; port 0 takes a free one.
    case network(host: String, port: UInt16)
    /// The sockets that the service manager has opened.
    case inherited

    /// Reads `/run/sluice/api.sock`, `unix:api.sock`, `8080`, `127.0.0.1:8080`, `[::1]:8080`, or `systemd`.
    package init?(_ text: String) {
        if text == "systemd" {
            self = .inherited
        } else if text.hasPrefix("unix:") || text.hasPrefix("/") {
            let path = text.hasPrefix("/") ? text : String(text.dropFirst(5))
            guard !path.isEmpty else { return nil }
            self = .local(path: path)
        } else {
            let colon = text.lastIndex(of: ":")
            guard let port = UInt16(colon.map { text[text.index(after: $0)...] } ?? text[...]) else { return nil }
            var host = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            if host == "localhost" { host = "127.0.0.1" }
            guard !host.isEmpty else { return nil }
            self = .network(host: host, port: port)
        }
    }

    /// Whether only processes of this machine can connect.
    package var isLocal: Bool {
        switch self {
        case .local: true
        // The administrator decided that in the socket unit.
        case .inherited: true
        case .network(let host, _): host == "::1" || host.hasPrefix("127.")
        }
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .local(let path): "unix:\(path)"
        case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .inherited: "systemd"
        }
    }
}
