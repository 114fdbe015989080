import Glibc
import HTTPServer
import TestSupport

/// A client's connection to a server on a socket of this machine: bytes out, bytes in.
struct RawConnection: ~Copyable {
    private let socket: Int32

    init(to path: String) throws {
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw SupportError("open a socket", errno: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SupportError("connect to \(path)", errno: errno) }
    }

    deinit { close(socket) }

    /// The caller must close the socket.
    consuming func release() -> Int32 {
        let released = socket
        discard self
        return released
    }

    /// Sends all of the text, or as much as the server takes before it closes the connection.
    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// All that the server sends until it closes the connection.
    func readToEnd() -> String {
        var (all, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = recv(socket, &piece, piece.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += piece[..<count]
        }
    }
}

/// Connections that send nothing.
final class IdleConnections: Sendable {
    private let sockets: [Int32]

    init(to path: String, count: Int) throws {
        sockets = try (0..<count).map { _ in try RawConnection(to: path).release() }
    }

    func close() { for socket in sockets { Glibc.close(socket) } }
}
