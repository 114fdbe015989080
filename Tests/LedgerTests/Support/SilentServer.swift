import Glibc
import Synchronization
import TestSupport

/// A TCP server on this machine that does not speak PostgreSQL's protocol.
final class SilentServer: Sendable {
    let port: Int
    private let descriptor: Int32

    /// Starts to listen. The system accepts connections, but nothing answers them.
    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SupportError("open a socket", errno: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let plain = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, plain, length) == 0 && listen(descriptor, 16) == 0
                && getsockname(descriptor, plain, &length) == 0
        }
        guard isBound else { throw SupportError("listen", errno: errno) }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    /// Accepts one connection, answers its first bytes with `answer`, and returns all that the client sent until it
    /// closed.
    func hearOut(answering answer: UInt8) throws -> [UInt8] {
        let client = accept(descriptor, nil, nil)
        guard client >= 0 else { throw SupportError("accept", errno: errno) }
        defer { close(client) }
        var heard: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(client, &buffer, buffer.count)
            guard count > 0 else { return heard }
            if heard.isEmpty {
                var byte = answer
                guard write(client, &byte, 1) == 1 else { throw SupportError("answer", errno: errno) }
            }
            heard += buffer.prefix(count)
        }
    }
}
