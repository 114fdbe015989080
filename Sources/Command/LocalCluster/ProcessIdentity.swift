import Glibc

/// A process and no other: numbers are used again, a number with the time of its start is not.
struct ProcessIdentity: Sendable, Hashable, Codable {
    let id: Int32
    /// In clock ticks since the machine started.
    let startedAt: UInt64
    /// Which start of the machine that was.
    let boot: String

    /// The process that has the number now; `nil` if there is none.
    init?(of id: pid_t) {
        guard let startedAt = Self.start(of: id), let boot = Self.boot else { return nil }
        (self.id, self.startedAt, self.boot) = (id, startedAt, boot)
    }

    /// Whether it still runs. One that has ended and that nobody has waited for does not.
    var isAlive: Bool { boot == Self.boot && Self.start(of: id) == startedAt }

    /// Sends a signal, if it still runs.
    func send(_ signal: Int32) { if isAlive { kill(id, signal) } }

    /// Waits for its end; whether that came in time. It may be nobody's child.
    func waitForEnd(_ limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while isAlive {
            guard ContinuousClock.now < deadline else { return false }
            usleep(10_000)
        }
        return true
    }

    private static let boot: String? = text(of: "/proc/sys/kernel/random/boot_id").map {
        String($0.prefix { $0 != "\n" })
    }

    private static func start(of id: pid_t) -> UInt64? {
        // 4711 (any name) S 1 ...: what counts is read from behind the name.
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
