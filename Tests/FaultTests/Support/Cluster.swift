import Conversion
import Foundation
import Ledger
import TestSupport

/// A separate ledger for a test, folders with sound, and real processes that work on them.
final class Cluster: Sendable {
    let server: PrivatePostgres
    /// A standby of the server, if it has one.
    let replica: PrivatePostgres?
    let url: String
    let ledger: JobLedger
    let folder: TemporaryFolder
    let watch: NameWatch
    /// The output for each source, made by an undisturbed conversion.
    let references: [Reference]

    struct Reference: Sendable {
        var source: String
        var digest: String
    }

    /// Creates a migrated ledger with leases of `lease`, and clips of the given lengths in seconds.
    ///
    /// With `hasReplica` all processes get the addresses of both servers and use the one that accepts writes.
    init(
        lease: Duration = .seconds(2),
        settings: String = "",
        clips: [Double] = [0.3, 0.8, 1.9, 4, 9],
        hasReplica: Bool = false
    ) async throws {
        let server = try PrivatePostgres.start()
        let replica = hasReplica ? try server.startReplica() : nil
        (self.server, self.replica) = (server, replica)
        folder = try TemporaryFolder.create()
        url = replica.map { "\(server.url(and: $0))?target_session_attrs=read-write" } ?? server.url()
        for name in ["in", "out", "log"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        }
        watch = try NameWatch(folder.path("out"))
        try Sluice.run(["migrate", "--database", url]).checked()
        let milliseconds = Int(lease / .milliseconds(1))
        try server.run(
            "update sluice.setting set lease = '\(milliseconds) ms', publish_grace = '1 s', retry_base = '100 ms', losses_without_delay = 1000, workers_lost_allowed = 1000"
        )
        if !settings.isEmpty { try server.run("update sluice.setting set \(settings)") }
        ledger = try JobLedger(LedgerConfiguration(url: url))
        references = try clips.enumerated().map { [folder] number, seconds in
            try Self.reference(number, seconds, in: folder)
        }
    }

    private static func reference(_ number: Int, _ seconds: Double, in folder: TemporaryFolder) throws -> Reference {
        let name = "clip\(number).wav"
        let frames = Int(seconds * 44_100)
        let sound = Signal.noise(seed: UInt64(number), rate: 44_100, frames: frames, channels: 2)
        try WAVFile.write(sound.pcm(.s16), to: folder.path("in/\(name)"))
        let made = folder.path("reference\(number).flac")
        try Sluice.run(["convert", folder.path("in/\(name)"), made]).checked()
        return Reference(source: "in:\(name)", digest: try SHA256.digest(of: made))
    }

    // MARK: - Work

    /// Submits `count` jobs whose outputs are `out:STEM-N.flac`, each from one of the clips.
    @discardableResult
    func submit(
        _ count: Int,
        _ stem: String,
        from clips: [Int]? = nil,
        queue: String = "default"
    ) async throws -> SubmissionReceipt {
        let clips = clips ?? Array(references.indices)
        let requests = (0..<count).map { number in
            JobRequest(
                Recipe(
                    from: Recipe.Source(location: references[clips[number % clips.count]].source),
                    to: Recipe.Output(location: "out:\(stem)-\(number).flac")
                ),
                needs: ["root:in", "root:out"],
                maxAttempts: 50
            )
        }
        return try await ledger.submit(Submission(queue: queue, label: stem), requests)
    }

    /// Submits 40 jobs if fewer than 20 are open, so that a fault hits processes that work. Returns how many it has
    /// submitted.
    func keepLoad(_ stem: String) async throws -> Int {
        guard try await ledger.status().jobs.open < 20 else { return 0 }
        try await submit(40, stem)
        return 40
    }

    /// Whether a worker of this name has jobs in hand, as far as the ledger knows.
    func holdsJobs(_ name: String) async throws -> Bool {
        try await ledger.workers().contains { $0.name == name && $0.holds > 0 }
    }

    /// For strace: makes groups of outputs form, also on a busy machine. The worker flushes a group of four and more
    /// with one syncfs, and a smaller one file by file.
    static let slowFirstFlush = ["-e", "inject=fsync:delay_enter=2000000:when=1"]

    /// Starts a worker. `wrapper` is a command prefix such as strace; `url` gives the worker another address of
    /// the ledger.
    func startWorker(
        _ name: String,
        slots: Int = 2,
        behind wrapper: [String] = [],
        more words: [String] = [],
        environment: [String: String] = [:],
        url: String? = nil
    ) throws -> ClusterProcess {
        try ClusterProcess(
            wrapper + [
                Sluice.path, "worker", "--name", name, "--slots", "\(slots)", "--grace", "10s",
                "--root", "in=\(folder.path("in"))", "--root", "out=\(folder.path("out"))", "--database",
                url ?? self.url,
            ] + words,
            log: folder.path("log/\(name)"),
            environment: environment
        )
    }

    func startCoordinator(_ name: String = "coordinator") throws -> ClusterProcess {
        try ClusterProcess(
            [Sluice.path, "coordinator", "--database", url],
            log: folder.path("log/\(name)")
        )
    }

    // MARK: - Waiting

    /// Checks `condition`, which asks the ledger, until it holds. Throws after `limit`.
    func until(
        _ what: String,
        within limit: Duration = .seconds(900),
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                throw SupportError("wait until \(what)", try whereTheyAre())
            }
            // The ledger sends no notification when a job, an attempt or a worker ends.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until no job is open.
    func untilAllEnded() async throws {
        try await until("no job is open") { try await ledger.status().jobs.open == 0 }
    }

    /// Waits until `count` jobs have ended.
    func untilEnded(_ count: Int) async throws {
        try await until("\(count) jobs have ended") {
            let jobs = try await ledger.status().jobs
            return jobs.total - jobs.open >= count
        }
    }

    /// For messages: open jobs, workers, and the ends of the logs.
    func whereTheyAre() throws -> String {
        let rows = try server.run(
            each: [
                "select 'running', job, epoch, worker, frames from sluice.running limit 5",
                "select 'publishing', job, epoch, worker, attempt_name from sluice.publishing limit 5",
                "select 'waiting', job, epoch, lost, spent from sluice.waiting limit 5",
                "select 'delayed', job, epoch, code, ready_at from sluice.delayed limit 5",
                "select 'worker', id, name, ended_at, end_reason, lease_until, now() from sluice.worker order by id desc limit 5",
            ]
        )
        return rows + "\n" + (try logs(last: 1_500))
    }

    /// The last `count` characters of each log.
    func logs(last count: Int) throws -> String {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("log")).sorted().map { name in
            "\(name): " + String(decoding: try Bytes.read(folder.path("log/\(name)")), as: UTF8.self).suffix(count)
        }.joined(separator: "\n")
    }
}

/// SHA-256 by an independent implementation.
enum SHA256 {
    static func digest(of path: String) throws -> String {
        String(try Run.program("sha256sum", [path]).checked().outputText.prefix(64))
    }

    /// The digests of many files at once, by name.
    static func digests(in folder: String, _ names: [String]) throws -> [String: String] {
        var found: [String: String] = [:]
        for start in stride(from: 0, to: names.count, by: 500) {
            let some = names[start..<min(start + 500, names.count)]
            let text = try Run.program("sha256sum", Array(some), folder: folder).checked().outputText
            for line in text.split(separator: "\n") { found[String(line.dropFirst(66))] = String(line.prefix(64)) }
        }
        return found
    }
}
