import Glibc
import System
import Testing

/// Whose process has the other end of a connection. Tests/HTTP asks as another user.
@Suite(.serialized) struct LocalPeersTests {
    /// A connection on this machine, and a socket that listens for more.
    private final class Connection {
        let listening: Int32
        let client: Int32
        let accepted: Int32

        /// With `isMapped`, the client's socket is one for IPv6.
        init(isMapped: Bool = false) throws {
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            listening = socket(AF_INET, kind, 0)
            client = socket(isMapped ? AF_INET6 : AF_INET, kind, 0)
            var here = sockaddr_in()
            here.sin_family = sa_family_t(AF_INET)
            here.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var isConnected = Self.call(&here) { [listening] address, length in
                var length = length
                return bind(listening, address, length) == 0 && listen(listening, 8) == 0
                    && getsockname(listening, address, &length) == 0
            }
            if isMapped {
                var mapped = sockaddr_in6()
                mapped.sin6_family = sa_family_t(AF_INET6)
                mapped.sin6_port = here.sin_port
                let bytes: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1]
                withUnsafeMutableBytes(of: &mapped.sin6_addr) { $0.copyBytes(from: bytes) }
                let isThere = Self.call(&mapped) { [client] in connect(client, $0, $1) == 0 }
                isConnected = isConnected && isThere
            } else {
                let isThere = Self.call(&here) { [client] in connect(client, $0, $1) == 0 }
                isConnected = isConnected && isThere
            }
            accepted = isConnected ? accept(listening, nil, nil) : -1
            try #require(accepted >= 0)
        }

        deinit {
            close(listening)
            close(accepted)
        }

        private static func call<Address>(
            _ address: inout Address,
            _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Bool
        ) -> Bool {
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
    }

    @Test(arguments: [true, false]) func theUserOfTheOtherEndIsFound(asksKernel: Bool) throws {
        let peers = LocalPeers(asksKernel: asksKernel)
        for isMapped in [false, true] {
            let connection = try Connection(isMapped: isMapped)
            #expect(peers.user(of: connection.accepted) == geteuid())
            #expect(peers.user(of: connection.client) == geteuid())
            // What it has sent may still be read.
            shutdown(connection.client, Int32(SHUT_WR))
            #expect(peers.user(of: connection.accepted) == geteuid())
            close(connection.client)
        }
    }

    /// The system has such a connection as one of root.
    @Test(arguments: [true, false]) func aConnectionThatItsProcessHasClosedHasNoUser(asksKernel: Bool) throws {
        let peers = LocalPeers(asksKernel: asksKernel)
        let connection = try Connection()
        #expect(peers.user(of: connection.accepted) == geteuid())
        close(connection.client)
        #expect(peers.user(of: connection.accepted) == nil)
    }

    @Test func otherSocketsHaveNoUser() throws {
        let connection = try Connection()
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        for asksKernel in [true, false] {
            let peers = LocalPeers(asksKernel: asksKernel)
            for other in [connection.listening, ends[0], -1] { #expect(peers.user(of: other) == nil) }
        }
        for end in ends + [connection.client] { close(end) }
    }
}
