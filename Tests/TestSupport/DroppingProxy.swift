import Foundation
import Synchronization

/// A TCP proxy in front of a PostgreSQL server that forwards bytes until a test makes it lose a message.
///
/// It uses threads and is not built for speed. Clients connect without TLS.
public final class DroppingProxy: Sendable {
    /// What the proxy loses when a message matches. It always closes that connection.
    public enum Loss: Sendable, CaseIterable {
        /// The server never receives the statement.
        case statement
        /// The server executes the statement and answers; the client never receives the answer.
        case answer
        /// The server receives the statement, and both connections close at once: the server may still be
        /// executing it when the client reconnects.
        case race
    }

    private struct Order {
        var pattern: [UInt8]
        var loss: Loss
    }

    public let port: Int
    private let listener: Int32
    private let socketPath: String
    private let order = Mutex<Order?>(nil)
    private let lossCount = Atomic<Int>(0)
    private let network = Network()

    /// Holds up all threads while the network is cut.
    private final class Network: @unchecked Sendable {
        // Every access to `isCut` holds the lock of `mended`.
        private let mended = NSCondition()
        private var isCut = false

        func cut(_ isCut: Bool) {
            mended.withLock {
                self.isCut = isCut
                mended.broadcast()
            }
        }

        func waitUntilMended() { mended.withLock { while isCut { mended.wait() } } }
    }

    /// Listens on a free port of 127.0.0.1 and forwards to `server`.
    public init(before server: PrivatePostgres) throws {
        socketPath = "\(server.folder)/.s.PGSQL.\(server.port)"
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw SupportError("open a socket", errno: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let plain = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(listener, plain, length) == 0 && listen(listener, 64) == 0
                && getsockname(listener, plain, &length) == 0
        }
        guard isBound else { throw SupportError("listen", errno: errno) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    /// Closes the port. Existing connections stay open.
    public func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The URL of a database behind the proxy.
    public func url(database: String = "postgres", user: String = "postgres") -> String {
        "postgresql://\(user)@127.0.0.1:\(port)/\(database)?sslmode=disable&gssencmode=disable"
    }

    /// Loses the next client message that contains `text`, or the answer to it.
    public func lose(_ loss: Loss, ofNext text: String) {
        order.withLock { $0 = Order(pattern: Array(text.utf8), loss: loss) }
    }

    /// Holds up all traffic in both directions, as a broken network does. After `cut(false)` everything sent
    /// meanwhile arrives.
    public func cut(_ isCut: Bool) { network.cut(isCut) }

    /// The number of messages and answers lost so far.
    public var losses: Int { lossCount.load(ordering: .relaxed) }

    // MARK: - One connection

    private func serve(_ client: Int32) {
        defer { Foundation.close(client) }
        guard let server = connectToServer() else { return }
        defer { Foundation.close(server) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var waited = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waited, 2, -1) > 0 else { continue }
            network.waitUntilMended()
            if waited[1].revents != 0 {
                let count = read(server, &buffer, buffer.count)
                guard count > 0, send(buffer[..<count], to: client) else { return }
            }
            if waited[0].revents != 0 {
                let count = read(client, &buffer, buffer.count)
                guard count > 0 else { return }
                guard let loss = loss(in: buffer[..<count]) else {
                    guard send(buffer[..<count], to: server) else { return }
                    continue
                }
                lossCount.add(1, ordering: .relaxed)
                if loss == .statement { return }
                guard send(buffer[..<count], to: server), loss == .answer else { return }
                return awaitAnswer(of: server)
            }
        }
    }

    /// The loss ordered for these bytes, or `nil`. Clears the order.
    private func loss(in bytes: ArraySlice<UInt8>) -> Loss? {
        order.withLock { order in
            guard let wanted = order, bytes.firstRange(of: wanted.pattern) != nil else { return nil }
            order = nil
            return wanted.loss
        }
    }

    /// Reads until the server is ready for another statement.
    private func awaitAnswer(of server: Int32) {
        let ready: [UInt8] = [UInt8(ascii: "Z"), 0, 0, 0, 5]
        var tail: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(server, &buffer, buffer.count)
            guard count > 0 else { return }
            tail = Array((tail + buffer[..<count]).suffix(6))
            if tail.starts(with: ready) { return }
        }
    }

    private func connectToServer() -> Int32? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8.prefix($0.count - 1)) }
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            connect(
                descriptor,
                bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size)
            ) == 0
        }
        guard isConnected else {
            Foundation.close(descriptor)
            return nil
        }
        return descriptor
    }

    private func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var left = bytes
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            left = left.dropFirst(count)
        }
        return true
    }
}
