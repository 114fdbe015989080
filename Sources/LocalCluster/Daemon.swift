import Conversion
import Glibc
import Storage
import System

/// Starts programs in the background: in a new session, without a terminal, with their output in a log and no other open
/// file.
package enum Daemon {
    /// Starts the program that `words` name. `variables` are its whole environment.
    static func start(
        _ words: [String],
        log: String,
        variables: [String: String] = [:]
    ) throws(ClusterError) -> ProcessIdentity {
        // A process that is not found has already ended, and its log says why.
        guard let identity = ProcessIdentity(of: try spawn(words, log, variables)) else {
            throw ClusterError("\(words[0]) ended at once", details: LogTail.lines(of: log))
        }
        return identity
    }

    private static func spawn(
        _ words: [String],
        _ log: String,
        _ variables: [String: String]
    ) throws(ClusterError) -> pid_t {
        var process = ProcessStart()
        let output = ProcessStart.Stream.file(log, flags: O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        process.streams = [(0, .nothingToRead), (1, output), (2, .descriptor(1))]
        // The command's caller may have files open. A pipe that stays open here keeps its reader waiting, and a lock locked.
        process.closesFrom = 3
        process.ordinarySignals = [SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD]
        process.group = .ownSession
        let id: pid_t
        do throws(SystemError) {
            id = try process.start(words[0], words, environment: variables, searching: true)
        } catch {
            throw ClusterError(error.number, "start \(words[0])")
        }
        return id
    }

    /// Starts a program of the user's desktop, whose output is not read. Returns whether it could be started and has not
    /// failed within a second; most have then handed their order to another process, or go on.
    package static func launch(_ words: [String], variables: [String: String]) -> Bool {
        // `try?`: why it cannot be started is of no use to the caller, who goes on without it.
        guard let id = try? spawn(words, "/dev/null", variables) else { return false }
        let deadline = ContinuousClock.now + .seconds(1)
        var status: Int32 = 0
        while ContinuousClock.now < deadline {
            if waitpid(id, &status, WNOHANG) == id { return status == 0 }
            // Poll: the process is a child, but the caller waits for it no longer than this.
            usleep(20_000)
        }
        return true
    }

    /// Runs `words` to the end, with the output in the log.
    static func run(_ words: [String], log: String, variables: [String: String] = [:]) throws(ClusterError) {
        let id = try spawn(words, log, variables)
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { throw ClusterError(errno, "wait for \(words[0])") }
        }
        guard status == 0 else {
            throw ClusterError("\(words[0]) failed", details: LogTail.lines(of: log), hint: "full log: \(log)")
        }
    }
}

/// The last lines of a log, for messages.
enum LogTail {
    /// Whether the first file was modified after the second. A missing first file is never younger, a missing
    /// second always older.
    static func isYounger(_ first: String, than second: String) -> Bool {
        guard let one = FileFacts.of(path: first, followingLinks: true) else { return false }
        guard let other = FileFacts.of(path: second, followingLinks: true) else { return true }
        return one.modifiedAt > other.modifiedAt
    }

    /// The length of a log; 0 if it does not exist.
    static func length(of path: String) -> Int64 { FileFacts.of(path: path, followingLinks: true)?.byteCount ?? 0 }

    /// The last lines; with `start`, of those that were written behind that many bytes.
    static func lines(of path: String, from start: Int64 = 0, count: Int = 5) -> [String] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        let size = lseek(file, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let taken = pread(file, &bytes, bytes.count, max(0, off_t(start), size - off_t(bytes.count)))
        guard taken > 0 else { return [] }
        let text = String(decoding: bytes.prefix(taken), as: UTF8.self)
        return text.split(separator: "\n").suffix(count).map { String($0).plain }
    }
}
