import Foundation
import Synchronization
import TestSupport

/// A datagram socket in the place of the service manager's, and what it has received.
final class NotifySocket: Sendable {
    let path: String
    private let socket: Int32
    private let received = Mutex<[String]>([])

    init(in folder: TemporaryFolder) throws {
        path = folder.path("notify")
        socket = Foundation.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw SupportError("make a socket", errno: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8) + [0]
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw SupportError("bind \(path)", "the path is too long")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SupportError("bind \(path)", errno: errno) }
    }

    deinit { close(socket) }

    var messages: [String] { received.withLock { $0 } }

    /// The lines of all messages so far.
    var lines: [String] { messages.flatMap { $0.split(separator: "\n").map(String.init) } }

    /// Receives messages until there are `count` lines that begin with `prefix`, those before the call included.
    func waits(for prefix: String, _ count: Int = 1, within limit: Duration = .seconds(600)) async throws {
        let deadline = ContinuousClock.now + limit
        while self.count(prefix) < count {
            let message = try await SeparateThread.run { [self] in try receive(until: deadline) }
            received.withLock { $0.append(message) }
        }
    }

    /// How many lines so far begin with `prefix`.
    func count(_ prefix: String) -> Int { lines.count { $0.hasPrefix(prefix) } }

    private func receive(until deadline: ContinuousClock.Instant) throws -> String {
        var waited = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let left = max(Duration.zero, deadline - .now) / .milliseconds(1)
        guard poll(&waited, 1, Int32(left)) == 1 else {
            throw SupportError("wait for a message to the service manager", messages.joined(separator: "\n--\n"))
        }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(socket, &bytes, bytes.count, 0)
        guard count >= 0 else { throw SupportError("receive", errno: errno) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
