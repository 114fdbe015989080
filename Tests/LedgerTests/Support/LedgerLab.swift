import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// A migrated ledger for one test.
struct LedgerLab {
    let lab: Lab
    let ledger: JobLedger
    let heartbeat: Heartbeat
    /// Long, so that a machine under load does not exceed it. Tests let time pass with `age`.
    let lease: Duration = .seconds(3_600)

    /// Creates a ledger on `server`. By default it is a copy of a migrated template on the server that all tests share.
    init(on server: PrivatePostgres? = nil, _ change: (inout LedgerConfiguration) -> Void = { _ in }) async throws {
        let name = PrivatePostgres.freshName()
        if let server {
            _ = try await onOwnThread { try server.run("create database \(name)") }
            _ = try await Migrator(.patient(url: server.url(database: name))).run()
            lab = try Lab(on: server, database: name, schema: .standard, name: name, change)
        } else {
            let server = try PrivatePostgres.shared()
            let template = try await Self.template.value
            try await Self.gate.pass {
                _ = try await onOwnThread { try server.copy(template, as: name) }
            }
            lab = try Lab(on: server, database: name, schema: .standard, name: name, change)
        }
        ledger = try JobLedger(lab.configuration)
        heartbeat = try Heartbeat(lab.configuration)
        try await set("lease = '1 h', publish_grace = '1 h', stall = '1 day'")
    }

    var schema: SchemaName { lab.schema }

    /// The same ledger as seen by another role, over a URL of that role.
    func ledger(as user: String, url: String? = nil) throws -> JobLedger {
        try JobLedger(configuration(url ?? lab.server.url(database: lab.database, user: user)))
    }

    func configuration(_ url: String) throws -> LedgerConfiguration {
        var configuration = try LedgerConfiguration.patient(url: url)
        configuration.schema = schema
        return configuration
    }

    /// The database of a new ledger. Copying it takes a quarter of the time of migrating one.
    private static let template = Task {
        let server = try PrivatePostgres.shared()
        let name = try server.createDatabase()
        _ = try await Migrator(.patient(url: server.url(database: name))).run()
        return name
    }

    // A hundred copies at once would only compete for the processors.
    private static let gate = Gate(places: 2)

    // MARK: - Material

    static func recipe(_ name: String, onConflict: Recipe.ConflictPolicy = .fail) -> Recipe {
        Recipe(
            from: Recipe.Source(location: "in:\(name).wav"),
            to: Recipe.Output(location: "out:\(name).flac", onConflict: onConflict)
        )
    }

    static func requests(_ count: Int, _ stem: String = "a") -> some Sequence<JobRequest> & Sendable {
        (0..<count).lazy.map { JobRequest(recipe("\(stem)/\($0)")) }
    }

    @discardableResult
    func submit(_ count: Int, _ submission: Submission = Submission()) async throws -> SubmissionReceipt {
        try await ledger.submit(submission, Self.requests(count, submission.label ?? "a"))
    }

    func worker(_ name: String = "w", abilities: [String] = []) async throws -> WorkerEntry {
        try await ledger.register(
            WorkerRegistration(name: name, host: "h", build: "1.0", slots: 4, abilities: abilities)
        )
    }

    /// Claims jobs. Fails the test if one of their recipes cannot be read.
    func claim(
        _ wanted: Int32 = 1,
        for worker: WorkerEntry,
        from queues: [String]? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> [Claim] {
        let claims = try await ledger.claim(wanted, for: worker.worker, from: queues)
        #expect(claims.refused.isEmpty, sourceLocation: location)
        return claims.jobs
    }

    static func publication(_ fence: Fence) -> Publication {
        Publication(
            fence,
            attemptName: ".a.flac.sluice-\(fence.job)",
            digest: String(repeating: "ab", count: 32),
            bytes: 1_234,
            facts: AttemptFacts(
                slot: 1,
                framesIn: 48_000,
                framesOut: 48_000,
                audio: .seconds(1),
                cpu: .milliseconds(12),
                peakBytes: 1 << 24
            )
        )
    }

    static func failure(
        _ kind: Failure.Kind,
        code: String = "corrupt_stream",
        stage: String = "decode"
    ) -> Failure {
        Failure(code: code, kind: kind, stage: stage, message: "it does not work")
    }

    // MARK: - Time and truth

    /// Moves the ledger's clock forward. Jobs and leases age by it.
    func age(by duration: Duration) async throws {
        try await lab.run { try $0.execute("update \(schema).setting set clock_shift = clock_shift + \(duration)") }
    }

    /// Keeps house with every chore due. By itself, a chore that has taken long is due later, and on a busy machine each may,
    /// and a tick does nothing within 900 ms of the one before.
    func keepWholeHouse() async throws -> HousekeepingReport {
        try await lab.run {
            try $0.execute("update \(schema).chore set due_at = '-infinity'")
            try $0.execute(
                "update \(schema).house set tick_at = least(tick_at, \(schema).ledger_time() - interval '900 ms')"
            )
        }
        return try await ledger.keepHouse()
    }

    /// Changes settings of the ledger, given as plain SQL.
    func set(_ assignment: String) async throws {
        try await lab.run { _ = try $0.script("update \(schema).setting set \(assignment)", changes: true) }
    }

    func value<Value: ColumnValue & Sendable>(_ statement: Statement) async throws -> Value {
        try await lab.run { try $0.value(statement) }
    }

    /// The state of a job. Fails the test unless exactly one row holds it.
    func state(_ job: Int64, _ location: SourceLocation = #_sourceLocation) async throws -> String {
        let found: [String] = try await lab.run { connection in
            try connection.rows(
                """
                select 'waiting' from \(schema).waiting where job = \(job)
                union all select 'delayed' from \(schema).delayed where job = \(job)
                union all select 'running' from \(schema).running where job = \(job)
                union all select 'publishing' from \(schema).publishing where job = \(job)
                union all select state::text from \(schema).finished where job = \(job)
                """
            ) { try $0[0] }
        }
        #expect(found.count == 1, "job \(job) lies in \(found)", sourceLocation: location)
        return found.joined(separator: "+")
    }

    /// The number of jobs in each state, by counting rows.
    func truth() async throws -> [String: Int] {
        let rows: [(String, Int)] = try await lab.run { connection in
            try connection.rows(
                """
                select 'waiting', count(*) from \(schema).waiting
                union all select 'delayed', count(*) from \(schema).delayed
                union all select 'running', count(*) from \(schema).running
                union all select 'publishing', count(*) from \(schema).publishing
                union all select state::text, count(*) from \(schema).finished group by state
                """
            ) { (try $0[0], try $0[1]) }
        }
        return Dictionary(uniqueKeysWithValues: rows).filter { $0.value > 0 }
    }
}

extension RecordedOutput {
    /// Any job's only output at `destination`.
    init(at destination: String) {
        self.init(job: 1, source: "", destination: destination, first: destination, bytes: 0, digest: "")
    }
}
