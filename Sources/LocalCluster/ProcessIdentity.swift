import Glibc
import System

/// Identifies one process for good: process ids are reused, but an id with its start time is not.
package struct ProcessIdentity: Sendable, Hashable, Codable {
    package let id: Int32
    /// In clock ticks since the machine started.
    let startedAt: UInt64
    /// The id of that boot of the machine.
    let boot: String

    /// The process that has this id now; `nil` if there is none.
    init?(of id: pid_t) {
        guard let startedAt = Self.start(of: id), let boot = Self.boot else { return nil }
        (self.id, self.startedAt, self.boot) = (id, startedAt, boot)
    }

    /// Whether it is still running. A zombie is not.
    var isAlive: Bool { boot == Self.boot && Self.start(of: id) == startedAt }

    /// Sends a signal if the process is still running.
    func send(_ signal: Int32) { if isAlive { kill(id, signal) } }

    /// Waits until the process ends and returns whether it did so in time. It need not be a child of this process.
    func waitForEnd(_ limit: Duration) throws(ClusterError) -> Bool {
        let deadline = ContinuousClock.now + limit
        let handle = SystemCall.processHandle(id)
        guard handle >= 0 else {
            guard errno == ESRCH else { throw ClusterError(errno, "wait for process \(id)") }
            return true
        }
        defer { close(handle) }
        // The handle may belong to another process that has got the id meanwhile.
        while isAlive {
            let left = deadline - .now
            guard left > .zero else { return false }
            var waited = [pollfd(fd: handle, events: Int16(POLLIN), revents: 0)]
            let milliseconds = Int32(clamping: Int((left / .milliseconds(1)).rounded(.up)))
            guard poll(&waited, 1, milliseconds) >= 0 || errno == EINTR else {
                throw ClusterError(errno, "wait for process \(id)")
            }
        }
        return true
    }

    private static let boot: String? = text(of: "/proc/sys/kernel/random/boot_id").map {
        String($0.prefix { $0 != "\n" })
    }

    private static func start(of id: pid_t) -> UInt64? {
        // 4711 (any name) S 1 ...: parse from behind the name, which may contain anything.
        guard let line = text(of: "/proc/\(id)/stat"), let end = line.lastIndex(of: ")") else { return nil }
        let fields = line[line.index(after: end)...].split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return UInt64(fields[19])
    }

    private static func text(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
