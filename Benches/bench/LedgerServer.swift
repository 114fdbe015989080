import Foundation
import TestSupport

/// A PostgreSQL server that waits for its disk, with a database for each ledger of a section.
struct LedgerServer {
    let postgres: PrivatePostgres
    /// Whether its folder is in memory, where waiting for the disk costs nothing.
    let isInMemory: Bool

    /// Starts a server in the temporary directory with PostgreSQL's defaults, except for the size of its buffers and
    /// the distance between checkpoints, and except for `settings`.
    static func start(settings: [String: String] = [:]) throws -> LedgerServer {
        let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        let postgres = try PrivatePostgres.start(
            settings: [
                "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "512MB",
                "max_wal_size": "4GB",
            ].merging(settings) { $1 },
            in: folder
        )
        let server = LedgerServer(postgres: postgres, isInMemory: try Self.isMemory(postgres.folder))
        if server.isInMemory { Bench.complain("\(folder) is in memory: set TMPDIR to a folder on a disk") }
        return server
    }

    /// Where the measurements were taken, for the text of a table.
    var place: String { isInMemory ? "in memory, so fsync costs nothing" : "with fsync on, on disk" }

    private static func isMemory(_ path: String) throws -> Bool {
        let kind = try Run.program("stat", ["--file-system", "--format=%T", path]).checked().outputText
        return ["tmpfs", "ramfs"].contains(kind.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Writes all dirty pages, so that the next measurement does not pay for earlier work.
    func settle() throws { try postgres.run("checkpoint") }

    /// The process id of the server's first process.
    var processNumber: Int {
        get throws {
            let file = try ProcFile.text("\(postgres.folder)/data/postmaster.pid")
            guard let number = file.split(separator: "\n").first.flatMap({ Int($0) }) else {
                throw SupportError("find the server's process", file)
            }
            return number
        }
    }

    /// Processor time of the server's processes so far, including those that have ended.
    func cpuSeconds() throws -> Double {
        let first = try processNumber
        let children = try ProcFile.text("/proc/\(first)/task/\(first)/children").split(separator: " ")
        // The server's first process counts the time of a process that has ended.
        return try ([first] + children.compactMap { Int($0) }).reduce(0) { try $0 + Self.cpuSeconds(ofProcess: $1) }
    }

    /// Processor time of a process so far, and of its children that have ended; 0 if it has ended itself.
    static func cpuSeconds(ofProcess number: Int) throws -> Double {
        guard let text = try ProcFile.textIfThere("/proc/\(number)/stat"), let end = text.lastIndex(of: ")") else {
            return 0
        }
        // user, system, and the same of children that have ended
        let ticks = text[text.index(after: end)...].split(separator: " ")[11..<15].compactMap { Int($0) }.reduce(0, +)
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Bytes of write-ahead log since the cluster was created.
    func writtenAhead() throws -> Double {
        let text = try postgres.run("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
        guard let bytes = Double(text) else { throw SupportError("read the position of the write-ahead log", text) }
        return bytes
    }

    var version: String { get throws { try postgres.run("show server_version") } }
}
