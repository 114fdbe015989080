import HTTPServer

/// Refuses what pages of other sites have browsers send.
///
/// A browser sends requests to this machine for any page. It says for which one (`Origin`), and by which name it found the
/// machine (`Host`): any site can have a name that leads to the address of this machine.
struct OriginCheck: Sendable {
    /// Names that are this coordinator's, in lower case, besides those of this machine.
    private let names: Set<String>

    init(names: some Sequence<String>) { self.names = Set(names.map { $0.lowercased() }) }

    /// For a request without a token: its `Host` must be a name of this machine, or one of `names`.
    func checkHost(_ head: RequestHead) throws(Problem) {
        // No browser reaches a socket in the file system.
        if !head.network.isEmpty { try checkName(head) }
    }

    /// The same also at a socket in the file system, which a tunnel of ssh may offer to browsers.
    func checkName(_ head: RequestHead) throws(Problem) {
        let host = RequestHead.hostName(head.field("host") ?? "").lowercased()
        let isOfMachine = host == "localhost" || host == "[::1]" || Self.isLoopback(host)
        guard isOfMachine || names.contains(host) else { throw Problem(.wrongHost) }
    }

    /// For a request that may change something: a page that has it sent must be of this coordinator's own origin.
    func checkOrigin(_ head: RequestHead) throws(Problem) {
        guard !["GET", "HEAD"].contains(head.method) else { return }
        // The browser compares whole origins, with their ports, which a proxy may hide from this coordinator.
        guard ["same-origin", "none", nil].contains(head.field("sec-fetch-site")) else { throw Problem(.foreignOrigin) }
        guard let origin = head.field("origin") else { return }
        let host = (head.field("host") ?? "").lowercased()
        let parts = origin.lowercased().split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, ["http:", "https:"].contains(parts[0]), parts[1].isEmpty, !parts[2].isEmpty else {
            throw Problem(.foreignOrigin)
        }
        let authority = String(parts[2])
        // A proxy may leave the port out, or add the usual one, which browsers leave out.
        let usual: String = authority + (parts[0] == "https:" ? ":443" : ":80")
        let name = RequestHead.hostName(authority)
        let isWithoutPort = RequestHead.hostName(host) == host && name == host
        let isOwn = authority == host || usual == host || isWithoutPort
        guard isOwn || names.contains(name) else { throw Problem(.foreignOrigin) }
    }

    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
