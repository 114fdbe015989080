import Glibc
import System

/// A socket at which a part of the cluster says that it is ready, in the protocol of sd_notify(3).
final class ReadySocket {
    /// The path, for the part's NOTIFY_SOCKET.
    let path: String
    private let descriptor: Int32

    /// Listens at `path`. Its folder must be closed to other users, who could say `READY=1` as well.
    init(at path: String) throws(ClusterError) {
        self.path = path
        guard let address = LocalSocketAddress(path: path) else {
            throw ClusterError(ENAMETOOLONG, "listen at \(path)")
        }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ClusterError(errno, "make a socket") }
        // One may be left from a supervisor that was killed.
        unlink(path)
        guard address.withAddress({ bind(descriptor, $0, $1) }) == 0 else {
            let problem = errno
            close(descriptor)
            throw ClusterError(problem, "listen at \(path)")
        }
    }

    /// What the part says later on is of no use: it then finds no socket, and goes on without.
    deinit {
        close(descriptor)
        unlink(path)
    }

    /// Waits until the part says that it is ready, until it ends, or until `deadline`.
    func wait(for part: ProcessIdentity, until deadline: ContinuousClock.Instant) {
        var message = [UInt8](repeating: 0, count: 4_096)
        while part.isAlive, ContinuousClock.now < deadline {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 50) > 0 else { continue }
            let count = recv(descriptor, &message, message.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { continue }
            let lines = message.prefix(count).split(separator: UInt8(ascii: "\n"))
            if lines.contains(where: { $0.elementsEqual("READY=1".utf8) }) { return }
        }
    }
}
