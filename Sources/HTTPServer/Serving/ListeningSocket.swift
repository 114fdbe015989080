import Glibc
import System

/// A socket that accepts connections.
struct ListeningSocket: Sendable {
    let descriptor: SharedDescriptor
    /// With the port that the system chose.
    let address: ListenAddress
    /// Removed when the server ends.
    private let path: String?

    /// Opens what `address` names; a socket in the file system gets this mode. The service manager may hand over several
    /// sockets.
    static func open(
        _ address: ListenAddress,
        mode: mode_t,
        environment: [String: String]
    ) throws(ListenError) -> [ListeningSocket] {
        switch address {
        case .local(let path): [try local(path, mode)]
        case .network(let host, let port): [try network(host, port)]
        case .inherited: try inherited(environment)
        }
    }

    func remove() {
        if let path { unlink(path) }
    }

    // MARK: - Kinds

    private static func local(_ path: String, _ mode: mode_t) throws(ListenError) -> ListeningSocket {
        guard let address = LocalSocketAddress(path: path) else {
            throw ListenError("the path of the socket is longer than \(LocalSocketAddress.longestPath) bytes: \(path)")
        }
        let descriptor = try socket(AF_UNIX)
        try address.withAddress { (address, length) throws(ListenError) in
            if bind(descriptor.number, address, length) == 0 { return }
            guard errno == EADDRINUSE else { throw ListenError("listen on \(path)", errno) }
            // A process that was killed leaves its socket behind. One that lives answers.
            let probe = try socket(AF_UNIX)
            guard connect(probe.number, address, length) != 0, errno == ECONNREFUSED else {
                throw ListenError("another process listens on \(path)")
            }
            guard unlink(path) == 0, bind(descriptor.number, address, length) == 0 else {
                throw ListenError("listen on \(path)", errno)
            }
        }
        guard chmod(path, mode) == 0 else { throw ListenError("set the mode of \(path)", errno) }
        try listen(descriptor)
        return ListeningSocket(descriptor: descriptor, address: .local(path: path), path: path)
    }

    private static func network(_ host: String, _ port: UInt16) throws(ListenError) -> ListeningSocket {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let found else {
            throw ListenError("\(host) is not an IP address")
        }
        defer { freeaddrinfo(found) }
        let descriptor = try socket(found.pointee.ai_family)
        var on: Int32 = 1
        setsockopt(descriptor.number, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor.number, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 else {
            throw ListenError("listen on \(ListenAddress.network(host: host, port: port))", errno)
        }
        try listen(descriptor)
        let actual = port == 0 ? Self.port(of: descriptor) : port
        return ListeningSocket(descriptor: descriptor, address: .network(host: host, port: actual), path: nil)
    }

    private static func inherited(_ environment: [String: String]) throws(ListenError) -> [ListeningSocket] {
        let count = ServiceManager.socketCount(environment)
        guard count > 0 else { throw ListenError("the service manager has handed over no socket") }
        return (3..<3 + count).map { number in
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
            return ListeningSocket(descriptor: SharedDescriptor(adopting: number), address: .inherited, path: nil)
        }
    }

    // MARK: - Calls

    private static func socket(_ family: Int32) throws(ListenError) -> SharedDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let number = Glibc.socket(family, kind, 0)
        guard number >= 0 else { throw ListenError("open a socket", errno) }
        return SharedDescriptor(adopting: number)
    }

    private static func listen(_ descriptor: SharedDescriptor) throws(ListenError) {
        guard Glibc.listen(descriptor.number, 1_024) == 0 else { throw ListenError("listen", errno) }
    }

    private static func port(of descriptor: SharedDescriptor) -> UInt16 {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(descriptor.number, $0, &length)
            }
            // The port is at the same place in addresses of both families.
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
    }
}

/// Why a server cannot listen.
package struct ListenError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    init(_ operation: String, _ number: Int32) {
        description = "cannot \(operation): \(systemText(number))"
    }
}
