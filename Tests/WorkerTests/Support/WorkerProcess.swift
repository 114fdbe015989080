import Foundation
import Synchronization
import TestSupport
import Testing

/// A running `sluice` service, and the log lines that it has written.
final class WorkerProcess: @unchecked Sendable {
    private let child: ChildProcess
    private let log: LogFile
    private var hasEnded = false

    static let program = BuiltProgram.path("sluice")
    /// What it starts as rooms.
    static let roomProgram = BuiltProgram.path("sluice-room")

    /// The fields of a log line that tests use.
    struct Line: Decodable {
        struct Failure: Decodable {
            var code: String
            var `class`: String
        }

        var event: String
        var job: Int64?
        var outcome: String?
        var failure: Failure?
        var reason: String?
        var handed_back: Int?
        var worker: Int64?
        var count: Int?
        var root: String?
        var roots: [String]?
        var note: String?
        var file_system: String?
        var jobs: Int?
        var keep_seconds: Double?
    }

    init(
        _ behind: [String],
        _ words: [String],
        url: String,
        in folder: TemporaryFolder,
        program: String = WorkerProcess.program
    ) throws {
        log = LogFile(folder.path("\(PrivatePostgres.freshName("log")).jsonl"))
        let output = open(log.path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw SupportError("open \(log.path)", errno: errno) }
        defer { close(output) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let line = behind + [program] + words
        child = try ChildProcess.spawn(
            line[0],
            Array(line.dropFirst()),
            environment: ["PATH": path, "HOME": "/", "LANG": "C.UTF-8", "SLUICE_DATABASE_URL": url],
            folder: folder.path,
            input: nil,
            output: output,
            errors: output
        )
    }

    deinit { if !hasEnded { child.kill() } }

    var id: pid_t { child.id }

    var text: String { (try? String(contentsOfFile: log.path, encoding: .utf8)) ?? "" }

    var lines: [Line] { log.lines }

    func lines(_ event: String) -> [Line] { lines.filter { $0.event == event } }

    /// Waits until it has logged `event` at least `count` times.
    func waits(for event: String, _ count: Int = 1, within limit: Duration = .seconds(600)) async throws {
        let isLogged = try await EventWait.until(.now + limit, changesOf: [log.path], endOf: [id]) { [self] in
            lines(event).count >= count
        }
        guard isLogged else { throw SupportError("wait for \"\(event)\"", text) }
    }

    /// How many files without a name it has open in `folder`: outputs that are not published.
    func unnamedFiles(below folder: String) throws -> Int {
        let open = "/proc/\(id)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: open).count { name in
            // A descriptor may be closed since the list was read.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(open)/\(name)")
            return target.map { $0.hasPrefix(folder + "/") && $0.hasSuffix(" (deleted)") } ?? false
        }
    }

    /// The process ids of its children, the pump rooms and fork servers.
    func rooms() throws -> [pid_t] {
        try Run.program("pgrep", ["-P", "\(id)"]).outputText.split(separator: "\n").compactMap { pid_t($0) }
    }

    /// The states of its threads and rooms as `ps` shows them; `D` is an uninterruptible wait in the kernel.
    func states() throws -> Set<String> {
        let numbers = ([id] + (try rooms())).map { "\($0)" }.joined(separator: ",")
        let text = try Run.program("ps", ["-L", "-o", "stat=", "-p", numbers]).outputText
        return Set(text.split(separator: "\n").map { String($0.prefix(1)) })
    }

    func signal(_ number: Int32) { _ = Foundation.kill(child.id, number) }

    /// Kills it, as a power failure would, and waits until it is gone.
    func kill() {
        hasEnded = true
        child.kill()
    }

    /// Waits until it has ended.
    func end(within limit: Duration = .seconds(600)) async throws -> Run.Status {
        let deadline = ContinuousClock.now + limit
        guard let status = try await SeparateThread.run({ [child] in child.wait(until: deadline) }) else {
            throw SupportError("wait for the end of a worker", text)
        }
        hasEnded = true
        return status
    }

    /// Sends SIGTERM and waits for the end.
    func stop(within limit: Duration = .seconds(600)) async throws -> Run.Status {
        signal(SIGTERM)
        return try await end(within: limit)
    }

    /// Sends SIGTERM, and expects the status 0.
    func stopsWell(
        within limit: Duration = .seconds(600),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        signal(SIGTERM)
        try await endsWell(within: limit, sourceLocation: sourceLocation)
    }

    /// Expects that it ends with the status 0.
    func endsWell(
        within limit: Duration = .seconds(600),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let status = try await end(within: limit)
        #expect(status == .exited(0), "it said: \(text.suffix(4_000))", sourceLocation: sourceLocation)
    }
}

/// The lines of a log that grows, each read once.
private final class LogFile: Sendable {
    let path: String
    private let heard = Mutex<(offset: UInt64, rest: Data, lines: [WorkerProcess.Line])>((0, Data(), []))

    init(_ path: String) { self.path = path }

    /// The lines so far, without those that are no events.
    var lines: [WorkerProcess.Line] {
        heard.withLock { heard in
            // A log that cannot be read has no lines; the test that waits for one says so.
            guard let file = FileHandle(forReadingAtPath: path), (try? file.seek(toOffset: heard.offset)) != nil,
                let news = try? file.readToEnd()
            else { return heard.lines }
            heard.offset += UInt64(news.count)
            heard.rest.append(news)
            while let end = heard.rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = heard.rest[heard.rest.startIndex..<end]
                if let event = try? JSONDecoder().decode(WorkerProcess.Line.self, from: line) {
                    heard.lines.append(event)
                }
                heard.rest = heard.rest[(end + 1)...]
            }
            return heard.lines
        }
    }
}
