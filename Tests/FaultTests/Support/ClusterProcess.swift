import Foundation
import Glibc
import TestSupport

/// A process of a cluster, which logs to a file. The last reference kills it.
final class ClusterProcess: @unchecked Sendable {
    // `status` is set once, by the first caller that waits; every access holds the lock.
    let child: ChildProcess
    let log: String
    /// The length of the log at the start: earlier processes of the same name have written to it.
    private let before: Int
    private let lock = NSLock()
    private var status: Run.Status?

    init(_ words: [String], log: String, environment: [String: String] = [:]) throws {
        self.log = log
        let opened = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw SupportError("open \(log)", errno: errno) }
        defer { close(opened) }
        before = Int(lseek(opened, 0, SEEK_END))
        child = try ChildProcess.spawn(
            words[0],
            Array(words.dropFirst()),
            environment: Sluice.environment(environment),
            folder: nil,
            input: nil,
            output: opened,
            errors: opened
        )
    }

    deinit { kill() }

    var id: pid_t { child.id }

    /// The log of this process so far.
    func said() throws -> String { String(decoding: try Bytes.read(log).dropFirst(before), as: UTF8.self) }

    /// Waits until it has logged `event` more than `count` times.
    func waits(for event: String, moreThan count: Int = 0) async throws {
        let isLogged = try await EventWait.until(.now + .seconds(300), changesOf: [log], endOf: [id]) { [self] in
            try self.count(of: event) > count
        }
        guard isLogged else { throw SupportError("wait for \"\(event)\" of process \(id)", try said()) }
    }

    /// How often it has logged `event`.
    func count(of event: String) throws -> Int { try said().components(separatedBy: "\"\(event)\"").count - 1 }

    /// Sends a signal to this process alone, not to its rooms.
    func send(_ signal: Int32) { _ = Glibc.kill(id, signal) }

    /// Kills it with SIGKILL, as abruptly as a power cut. Its rooms have to notice by themselves.
    func kill() {
        lock.withLock {
            guard status == nil else { return }
            _ = Glibc.kill(id, SIGKILL)
            status = child.wait(until: nil)
        }
    }

    /// Waits for its end.
    @discardableResult
    func wait(within limit: Duration = .seconds(300)) throws -> Run.Status {
        try lock.withLock {
            if let status { return status }
            guard let ended = child.wait(until: .now + limit) else {
                throw SupportError("wait for process \(id)", "it still runs; its log:\n\(try said().suffix(3_000))")
            }
            status = ended
            return ended
        }
    }

    /// Whether it has ended, or ends within `limit`.
    func hasEnded(within limit: Duration = .zero) -> Bool {
        lock.withLock {
            if status == nil { status = child.wait(until: .now + limit) }
            return status != nil
        }
    }

    /// Waits for its end, and throws unless it exits with 0.
    func waitForGoodEnd() throws {
        let status = try wait()
        guard status != .exited(0) else { return }
        throw SupportError("end process \(id) in order", "\(status); it said:\n\(try said().suffix(3_000))")
    }

    /// Sends SIGTERM once it has started: a process that does not handle the signal yet would simply die.
    func askToEnd() throws {
        let hasStarted = try EventWait.until(.now + .seconds(300), changesOf: [log], endOf: [id]) {
            try said().contains("\"started\"")
        }
        guard hasStarted else { throw SupportError("wait until process \(id) has started", try said()) }
        send(SIGTERM)
    }

    /// Asks it to end, and throws unless it exits with 0.
    func stop() throws {
        try askToEnd()
        try waitForGoodEnd()
    }

    /// Its child processes: a worker's pump rooms, or the worker that a tracer runs.
    func rooms() throws -> [pid_t] {
        let text = try Run.program("pgrep", ["-P", "\(id)"]).outputText
        return text.split(separator: "\n").compactMap { pid_t($0) }
    }
}
