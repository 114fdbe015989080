import Conversion
import Foundation
import Ledger
import TestSupport

/// A ledger in a separate database, and the operations that benches perform on it.
struct BenchLedger: Sendable {
    let server: PrivatePostgres
    let database: String
    let configuration: LedgerConfiguration
    /// For operations that are not measured: submitting beforehand, housekeeping alongside.
    let ledger: JobLedger

    /// `lease` is the length of a lease. Most benches' workers send no heartbeats: a heartbeat is one statement per
    /// worker process in ten seconds.
    static func create(on server: PrivatePostgres, lease: String = "1 h") async throws -> BenchLedger {
        let database = try server.createDatabase()
        let configuration = try LedgerConfiguration(url: server.url(database: database))
        _ = try await Migrator(configuration).run()
        try server.run("update sluice.setting set lease = '\(lease)'", database: database)
        return BenchLedger(
            server: server,
            database: database,
            configuration: configuration,
            ledger: try JobLedger(configuration)
        )
    }

    /// Closes its connections and drops the database.
    func remove() async throws {
        await ledger.close()
        try server.run("drop database \(database) with (force)")
    }

    /// The same ledger with its own pool of at most `connections` connections.
    func opened(connections: Int) throws -> JobLedger {
        var configuration = configuration
        configuration.connectionLimit = connections
        return try JobLedger(configuration)
    }

    @discardableResult
    func submit(_ count: Int) async throws -> SubmissionReceipt {
        try await ledger.submit(Submission(), Self.requests(count))
    }

    /// The same with several concurrent submitters, each with a connection and a share of the jobs.
    func submit(_ count: Int, submitters: Int) async throws {
        let ledger = try opened(connections: submitters)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<submitters {
                group.addTask { _ = try await ledger.submit(Submission(), Self.requests(count / submitters)) }
            }
            try await group.waitForAll()
        }
        await ledger.close()
    }

    /// One-job submissions from concurrent sessions, each with a connection. Returns submissions per second.
    func submitOneByOne(_ count: Int, sessions: Int, wakesWorkers: Bool) async throws -> Double {
        let ledger = try opened(connections: sessions)
        let submission = Submission(wakesWorkers: wakesWorkers)
        func submit(_ count: Int) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<sessions {
                    group.addTask {
                        for _ in 0..<(count / sessions) { _ = try await ledger.submit(submission, Self.requests(1)) }
                    }
                }
                try await group.waitForAll()
            }
        }
        // A warm-up: opens connections and makes plans.
        try await submit(sessions * 20)
        let began = ContinuousClock.now
        try await submit(count)
        let took = (ContinuousClock.now - began) / .seconds(1)
        await ledger.close()
        return Double(count) / took
    }

    /// Jobs as in a podcast archive: about 300 bytes of recipe each.
    static func requests(_ count: Int) -> some Sequence<JobRequest> & Sendable {
        (0..<count).lazy.map { number in
            let name = "show-\(number / 200)/2024/episode-\(number)-the-long-interview"
            let source = Recipe.Source(location: "podcasts:\(name).wav")
            let output = Recipe.Output(location: "out:\(name).mp3", preset: "podcast-mp3")
            return JobRequest(Recipe(from: source, to: output))
        }
    }

    static func register(_ name: String, in ledger: JobLedger) async throws -> WorkerEntry {
        try await ledger.register(WorkerRegistration(name: name, host: "bench", build: "bench", slots: 8))
    }

    /// A worker's report on a job that it converted.
    static func publication(_ fence: Fence) -> Publication {
        Publication(
            fence,
            attemptName: ".episode.mp3.sluice-\(fence.job)-\(fence.epoch)",
            digest: digest,
            bytes: 1_000_000,
            facts: AttemptFacts(
                slot: 1,
                framesIn: 44_100,
                framesOut: 44_100,
                audio: .seconds(1),
                cpu: .milliseconds(10),
                peakBytes: 1 << 25
            )
        )
    }

    private static let digest = String(repeating: "0123456789abcdef", count: 4)

    /// Publishes and finishes a group of jobs. Throws unless the ledger accepts all of them.
    static func complete(_ claims: [Claim], in ledger: JobLedger) async throws {
        let published = try await ledger.publish(claims.map { publication($0.fence) })
        let finished = try await ledger.finish(claims.map(\.fence))
        guard published.allSatisfy({ $0 == .done }), finished.allSatisfy({ $0 == .done }) else {
            throw SupportError("complete \(claims.count) jobs", "the ledger did not take all of them")
        }
    }

    /// Runs housekeeping every second, as a coordinator does, while `body` runs.
    func keepingHouse<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    let report = try await ledger.keepHouse()
                    for chore in report.chores {
                        guard let error = chore.error else { continue }
                        throw SupportError("run housekeeping: \(chore.name)", error)
                    }
                    // The coordinator's interval is part of what is measured.
                    do { try await Task.sleep(for: .seconds(1)) } catch {
                        // The sleep ends early only when `body` has ended.
                        return
                    }
                }
            }
            let result = try await body()
            group.cancelAll()
            do {
                try await group.waitForAll()
            } catch let error as LedgerError where error.code == .cancelled {
                // The housekeeping in progress when `body` ended.
            }
            return result
        }
    }
}
