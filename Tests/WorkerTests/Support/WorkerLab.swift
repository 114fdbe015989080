import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// A test's own migrated ledger, two roots, and workers in separate processes.
final class WorkerLab: Sendable {
    let server: PrivatePostgres
    /// The database of the ledger.
    let database: String
    let configuration: LedgerConfiguration
    let ledger: JobLedger
    let schema: SchemaName
    let folder: TemporaryFolder

    /// `lease` is long unless a test waits for it to end.
    init(on server: PrivatePostgres? = nil, lease: String = "600 s", publishGrace: String = "60 s") async throws {
        if let server {
            (self.server, database) = (server, "postgres")
            _ = try await Migrator(LedgerConfiguration(url: server.url())).run()
        } else {
            (self.server, database) = (try .shared(), PrivatePostgres.freshName("worker"))
            let template = try await Self.template.value
            try self.server.copy(template, as: database)
        }
        configuration = try LedgerConfiguration(url: self.server.url(database: database))
        schema = configuration.schema
        ledger = try JobLedger(configuration)
        folder = try TemporaryFolder.create()
        for name in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        }
        try set("lease = '\(lease)', publish_grace = '\(publishGrace)', retry_base = '50 ms'")
    }

    deinit { server.endSession(of: database) }

    /// A migrated database, which each test copies: a copy takes a tenth of the time of a migration.
    private static let template = Task {
        let server = try PrivatePostgres.shared()
        let name = try server.createDatabase()
        _ = try await Migrator(LedgerConfiguration(url: server.url(database: name))).run()
        return name
    }

    /// The URL of the ledger.
    var url: String { server.url(database: database) }

    func path(_ name: String) -> String { folder.path(name) }

    // MARK: - Jobs

    /// Writes a WAV file with `frames` frames at 8 kHz into the root `in`.
    func addSource(_ name: String = "talk.wav", frames: Int = 4_000, seed: UInt64 = 7) throws {
        try WAVFile.write(Signal.noise(seed: seed, rate: 8_000, frames: frames).pcm(.s16), to: path("in/\(name)"))
    }

    /// Writes the same sound as `addSource` into a file of the root `in` whose name has the ending of another format.
    func addSource(_ name: String, as ending: String, frames: Int) throws {
        try addSource("\(name).wav", frames: frames)
        guard ending != "wav" else { return }
        let words = ["convert", path("in/\(name).wav"), path("in/\(name).\(ending)")]
        _ = try Run.program(WorkerProcess.program, words).checked()
    }

    /// Writes a sparse WAV file of silence, which needs no disk space. Four hours of it take minutes to convert to MP3.
    func addLongSource(_ name: String = "long.wav", seconds: Int = 4 * 3_600) throws {
        let size = seconds * 48_000 * 4
        let tiny = Signal.noise(seed: 1, rate: 48_000, frames: 100, channels: 2).pcm(.s16)
        try WAVFile.write(tiny, to: path("in/\(name)"), options: .init(claimedDataSize: UInt32(size)))
        guard truncate(path("in/\(name)"), off_t(44 + size)) == 0 else { throw SupportError("lengthen", errno: errno) }
    }

    /// Submits jobs that take so long that a test finds them running.
    @discardableResult
    func submitLong(_ count: Int, _ stem: String = "long") async throws -> [Int64] {
        // Do not rewrite the file while other jobs read it.
        if !FileManager.default.fileExists(atPath: path("in/long.wav")) { try addLongSource() }
        return try await submit((0..<count).map { Self.recipe("in:long.wav", to: "out:\(stem)\($0).mp3") })
    }

    static func recipe(
        _ source: String = "in:talk.wav",
        to destination: String,
        onConflict: Recipe.ConflictPolicy = .fail
    ) -> Recipe {
        Recipe(
            from: Recipe.Source(location: source),
            to: Recipe.Output(location: destination, onConflict: onConflict)
        )
    }

    /// Submits `count` jobs, each with the output `out:STEMn.flac`. Returns their numbers.
    @discardableResult
    func submit(_ count: Int, _ stem: String = "a", from source: String = "in:talk.wav") async throws -> [Int64] {
        try await submit((0..<count).map { Self.recipe(source, to: "out:\(stem)\($0).flac") })
    }

    @discardableResult
    func submit(_ recipes: [Recipe], _ submission: Submission = Submission()) async throws -> [Int64] {
        let receipt = try await ledger.submit(submission, recipes: recipes)
        return try sql("select id from \(schema).job where batch = \(receipt.batch) order by id")
            .split(separator: "\n").compactMap { Int64($0) }
    }

    /// Submits a job with one attempt, and returns its number.
    func submitOnce(_ recipe: Recipe) async throws -> Int64 {
        try #require(try await submit([recipe], Submission(maxAttempts: 1)).first)
    }

    /// The failure of the job's last attempt.
    func failure(_ job: Int64) async throws -> Failure? { try await ledger.story(of: job)?.attempts.last?.failure }

    /// Expects that the only job fails because of its source, and that `worker` then uses all its roots.
    func expectFailureOfSource(_ job: Int64, _ worker: WorkerProcess) async throws {
        try await wait(for: 1, "failed")
        let failure = try #require(try await failure(job))
        #expect(failure.known == .sourceIO && failure.kind == .transient, "\(failure)")
        #expect(worker.lines("paused").isEmpty, "\(worker.text)")
        try await worker.stopsWell()
    }

    /// Returns the ledger to the state before the finished jobs were claimed, as a failover that loses commits does.
    func forgetFinishedJobs() throws {
        try sql(
            """
            with gone as (delete from \(schema).finished returning job, batch)
            insert into \(schema).waiting (job, batch, lane, cost, turn, epoch, spent, lost, room_deaths, since)
            select g.job, g.batch, j.lane, j.cost, g.job, 0, 0, 0, 0, now() from gone g join \(schema).job j on j.id = g.job;
            delete from \(schema).attempt;
            update \(schema).lane set floor = 0
            """
        )
    }

    // MARK: - Truth

    @discardableResult
    func sql(_ text: String) throws -> String { try server.ask(text, database: database) }

    /// Changes the ledger's settings by an SQL assignment.
    func set(_ assignment: String) throws { try sql("update \(schema).setting set \(assignment)") }

    /// The number of jobs in each state.
    func truth() throws -> [String: Int] {
        let rows = try sql(
            """
            select 'waiting', count(*) from \(schema).waiting
            union all select 'delayed', count(*) from \(schema).delayed
            union all select 'running', count(*) from \(schema).running
            union all select 'publishing', count(*) from \(schema).publishing
            union all select state::text, count(*) from \(schema).finished group by state
            """
        )
        let pairs = rows.split(separator: "\n").compactMap { row -> (String, Int)? in
            let parts = row.split(separator: "|")
            return Int(parts[1]).flatMap { $0 > 0 ? (String(parts[0]), $0) : nil }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// The number of attempts by outcome and code.
    func attempts() throws -> [String: Int] {
        let rows = try sql(
            "select outcome || coalesce(' ' || code, ''), count(*) from \(schema).attempt group by 1 order by 1"
        )
        return Dictionary(
            uniqueKeysWithValues: rows.split(separator: "\n").map { row in
                let parts = row.split(separator: "|")
                return (String(parts[0]), Int(parts[1]) ?? -1)
            }
        )
    }

    /// The files in the root `out`, including hidden ones.
    func outputs() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: path("out")).sorted() }

    /// Polls until `condition` holds. On timeout, records an issue with the text `what`.
    func wait(
        _ what: String,
        within limit: Duration = .seconds(600),
        _ location: SourceLocation = #_sourceLocation,
        until condition: () throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try !condition() {
            guard .now < deadline else {
                Issue.record("timed out waiting until \(what): \((try? truth()) ?? [:])", sourceLocation: location)
                throw SupportError("wait until \(what)", "time is over")
            }
            // Most conditions ask the ledger, which sends no notification when a job or an attempt ends.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until `count` jobs run and a beat has reported their slots.
    func waitForMovement(_ count: Int = 1) async throws {
        try await wait("\(count) jobs run") {
            try sql("select count(*) from \(schema).running where slot is not null") == "\(count)"
        }
    }

    /// Waits until `count` jobs are in `state`.
    func wait(for count: Int, _ state: String, _ location: SourceLocation = #_sourceLocation) async throws {
        try await wait("\(count) jobs are \(state)", location) { try truth()[state] == count }
    }

    /// Calls `body` while no job can reach its end in the ledger: another session keeps the table of ended jobs locked, or
    /// another `table`.
    func whilePublicationsWait<Result>(
        on table: String = "finished",
        _ body: () async throws -> Result
    ) async throws -> Result {
        try sql("create table \(schema).gate as select true as is_closed")
        // A session cannot wait until a row is gone, so this one polls.
        let look = "while exists (select from \(schema).gate) loop perform pg_sleep(0.01); end loop"
        let hold = "do $$ begin lock table \(schema).\(table) in share mode; \(look); end $$"
        async let session = SeparateThread.run { [server, database] in try server.run(hold, database: database) }
        let locks = "select count(*) from pg_locks where relation = '\(schema).\(table)'::regclass and granted"
        try await wait("the table is locked") { try sql("\(locks) and mode = 'ShareLock'") == "1" }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try sql("delete from \(schema).gate")
        _ = try await session
        return try result.get()
    }

    // MARK: - Workers

    /// Starts `sluice worker` with the given roots and with `SLUICE_DATABASE_URL` set.
    func worker(
        _ words: String...,
        roots: [String] = ["in", "out"],
        behind: [String] = [],
        program: String = WorkerProcess.program
    ) throws -> WorkerProcess {
        let named = roots.flatMap { ["--root", "\($0)=\(path($0))"] }
        return try WorkerProcess(
            behind,
            ["worker"] + named + words + ["--schema", schema.text],
            url: url,
            in: folder,
            program: program
        )
    }

    func coordinator(_ words: String..., behind: [String] = []) throws -> WorkerProcess {
        try coordinator(words, behind: behind)
    }

    func coordinator(_ words: [String], behind: [String] = []) throws -> WorkerProcess {
        try WorkerProcess(behind, ["coordinator"] + words + ["--schema", schema.text], url: url, in: folder)
    }
}
