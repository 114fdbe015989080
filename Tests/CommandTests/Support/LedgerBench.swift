import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A migrated ledger for one test, commands that run on it, and helpers that act as workers.
struct LedgerBench {
    let folder: TemporaryFolder
    let ledger: JobLedger
    let heartbeat: Heartbeat
    let server: PrivatePostgres
    private let database: String

    /// A migrated database, which each test copies. A copy is faster than a migration, because migrations on one
    /// server wait for each other.
    private static let template = Result {
        let server = try PrivatePostgres.shared()
        let name = try server.createDatabase()
        let environment = Sluice.environment(["SLUICE_DATABASE_URL": server.url(database: name)])
        _ = try Run.program(Sluice.path, ["migrate"], environment: environment).checked()
        // Long times, so that no lease ends on a machine under load. A test that needs time to pass advances the
        // ledger's clock.
        try server.run("update sluice.setting set lease = '600 s', stall = '1 day'", database: name)
        return name
    }

    init() throws {
        let database = PrivatePostgres.freshName()
        let server = try PrivatePostgres.shared()
        try server.copy(Self.template.get(), as: database)
        try self.init(on: server, database)
    }

    /// A ledger on a separate server, which the test may stop.
    static func alone() throws -> LedgerBench {
        let server = try PrivatePostgres.start()
        let environment = Sluice.environment(["SLUICE_DATABASE_URL": server.url()])
        _ = try Run.program(Sluice.path, ["migrate"], environment: environment).checked()
        return try LedgerBench(on: server, "postgres")
    }

    private init(on server: PrivatePostgres, _ database: String) throws {
        folder = try TemporaryFolder.create()
        (self.server, self.database) = (server, database)
        let configuration = try LedgerConfiguration(url: server.url(database: database))
        ledger = try JobLedger(configuration)
        heartbeat = try Heartbeat(configuration)
    }

    var environment: [String: String] { ["SLUICE_DATABASE_URL": server.url(database: database), "TZ": "UTC"] }

    // MARK: - The command

    func run(_ words: [String], input: Run.Input = .nothing, environment more: [String: String] = [:]) throws -> Run {
        try Sluice.run(words, in: folder, input: input, environment: environment.merging(more) { $1 })
    }

    func run(_ words: String..., environment more: [String: String] = [:]) throws -> Run {
        try run(words, environment: more)
    }

    /// The output of a command that must succeed.
    func output(_ words: String...) throws -> String { try run(words).checked().outputText }

    /// The lines of JSON that a command prints, each an object.
    func records(_ words: String...) throws -> [[String: Any]] { try records(words) }

    func records(_ words: [String]) throws -> [[String: Any]] {
        try run(words + ["--json"]).outputText.split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    func start(_ words: String...) throws -> RunningSluice {
        try RunningSluice(words, in: folder, environment: environment)
    }

    // MARK: - Time

    /// Advances the ledger's clock.
    func age(seconds: Int) throws {
        let change = "update sluice.setting set clock_shift = clock_shift + interval '\(seconds) s'"
        try server.run(change, database: database)
    }

    /// Runs SQL as the owner of the ledger.
    @discardableResult
    func sql(_ text: String) throws -> String { try server.run(text, database: database) }

    /// Takes a lock that every submission needs. It is released with the returned value.
    func holdBatches() async throws -> HeldLock { try HeldLock(on: server, database) }

    // MARK: - Jobs and workers

    static func recipe(_ name: String) -> Recipe {
        Recipe(
            from: Recipe.Source(location: "in:\(name).wav"),
            to: Recipe.Output(location: "out:\(name).mp3", preset: "podcast-mp3")
        )
    }

    @discardableResult
    func submit(_ count: Int, _ submission: Submission = Submission(), stem: String = "a") async throws -> [Int64] {
        let receipt = try await ledger.submit(
            submission,
            (1...count).lazy.map { JobRequest(Self.recipe("\(stem)/\($0)")) }
        )
        return try await ledger.jobs(ofBatch: receipt.batch)
    }

    func worker(_ name: String = "pump-1", abilities: [String] = ["root:local"]) async throws -> Int64 {
        try await ledger.register(
            WorkerRegistration(name: name, host: "host-1", build: "1.0", slots: 4, abilities: abilities)
        ).worker
    }

    /// Claims `count` jobs, in claim order.
    func claim(_ count: Int32 = 1, for worker: Int64) async throws -> [Fence] {
        let claims = try await ledger.claim(count, for: worker)
        #expect(claims.jobs.count == Int(count))
        return claims.jobs.map(\.fence)
    }

    /// The report of a conversion from MP3 to WAV, 48 kHz, stereo.
    static func report(
        frames: Int64 = 48_000,
        _ damage: DamageReport = DamageReport(),
        _ remarks: Remark...
    ) throws -> ConversionReport {
        let shape = AudioShape(
            sampleRateHz: 48_000,
            channelCount: 2,
            bitDepth: 16,
            codecName: "mp3",
            isLossless: false
        )
        return ConversionReport(
            source: .init(track: 0, codec: "mp3", sampleRateHz: 48_000, channelCount: 2, frames: frames),
            format: try AudioFormat(container: .wav).resolved(for: shape),
            plannedFrames: frames,
            writtenFrames: frames,
            decodedFrames: frames,
            bytes: 1_234_567,
            damage: damage,
            isVerified: false,
            digest: nil,
            lostTags: [],
            remarks: remarks
        )
    }

    func complete(_ fence: Fence, _ report: ConversionReport? = nil) async throws {
        let publication = Publication(
            fence,
            attemptName: ".out.sluice-\(fence.job)",
            digest: String(repeating: "ab", count: 32),
            bytes: 1_234_567,
            facts: AttemptFacts(
                slot: 3,
                framesIn: 48_000,
                framesOut: 48_000,
                audio: .seconds(1),
                cpu: .milliseconds(120),
                peakBytes: 31_000_000,
                report: report
            )
        )
        #expect(try await ledger.publish([publication]) == [.done])
        #expect(try await ledger.finish([fence]) == [.done])
    }

    func fail(
        _ fence: Fence,
        _ kind: Failure.Kind = .permanent,
        code: String = "truncated",
        message: String = "the header promises 1:02:10, the data ends at 48:07.113"
    ) async throws {
        let failure = Failure(
            code: code,
            kind: kind,
            stage: "decode",
            message: message,
            stream: 0,
            position: MediaTime(value: 138_581_424, timescale: 48_000),
            frame: 138_581_424,
            libavName: "INVALIDDATA"
        )
        let facts = AttemptFacts(slot: 3, framesIn: 138_581_424, cpu: .milliseconds(5_100), peakBytes: 31_000_000)
        #expect(try await ledger.fail([AttemptFailure(fence, failure, facts: facts)]) == [.done])
    }

    /// Submits a job, lets it fail permanently, and returns its number.
    func failedJob(code: String = "truncated", stem: String = "bad") async throws -> Int64 {
        let job = try await submit(1, stem: stem)[0]
        let worker = try await worker()
        try await fail(claim(for: worker)[0], code: code)
        return job
    }

    func state(_ job: Int64) async throws -> JobState? { try await ledger.story(of: job)?.summary.state }
}

/// A psql session whose transaction holds a lock on the table of batches.
final class HeldLock {
    private let server: PrivatePostgres
    private let database: String
    private let child: ChildProcess
    private let feed: OpenPipe

    init(on server: PrivatePostgres, _ database: String) throws {
        (self.server, self.database) = (server, database)
        feed = try OpenPipe.open()
        child = try ChildProcess.spawn(
            PrivatePostgres.program("psql"),
            ["--quiet", "--no-psqlrc", server.url(database: database)],
            environment: Sluice.environment(),
            folder: "/",
            input: feed.reading,
            output: STDERR_FILENO,
            errors: STDERR_FILENO
        )
        feed.closeReading()
        let words = Array("begin; lock table sluice.batch in access exclusive mode;\n".utf8)
        guard write(feed.writing, words, words.count) == words.count else {
            throw SupportError("tell psql to lock", errno: errno)
        }
        try until("select count(*) from pg_locks where relation = 'sluice.batch'::regclass and granted")
    }

    /// Waits until another session waits for the lock.
    func untilASessionWaits() async throws {
        try until("select count(*) from pg_locks where relation = 'sluice.batch'::regclass and not granted")
    }

    func letGo() throws {
        feed.closeWriting()
        guard child.wait(until: .now + .seconds(200)) != nil else { throw SupportError("end psql", "it goes on") }
    }

    private func until(_ count: String) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        // PostgreSQL reports locks in a view, without events. Each check runs psql, which takes longer than a pause.
        while try server.run(count, database: database).trimmingCharacters(in: .whitespacesAndNewlines) == "0" {
            guard ContinuousClock.now < deadline else { throw SupportError("wait for a lock", count) }
        }
    }
}

extension Golden {
    /// `text` with everything masked that the ledger creates anew: times, worker numbers, digests and schema names.
    static func maskedLedger(_ text: String) -> String {
        text.replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) { _ in "TIME" }
            .replacing(#/"(worker|id)":\d{6,}/#) { "\"\($0.output.1)\":0" }
            .replacing(#/request:[0-9a-f]{64}/#) { _ in "request:DIGEST" }
            .replacing(#/test_[0-9a-z_]+/#) { _ in "SCHEMA" }
    }
}
