import Foundation
import Ledger
import TestSupport

/// Workers that do nothing with their jobs but report them: claim, publish, finish, in groups.
enum Drain {
    /// Jobs per claim, and per report.
    static let group: Int32 = 100

    struct Outcome {
        let jobs: Int
        let seconds: Double
        /// Processor time of the workers and the server together.
        let cpuSeconds: Double
        var cpuMicrosecondsPerJob: Double { cpuSeconds * 1_000_000 / Double(jobs) }
        var words: String { "\(rate.fixed(0)) jobs/s, \(cpuMicrosecondsPerJob.fixed(0)) us of CPU each" }
        var rate: Double { Double(jobs) / seconds }
    }

    /// Runs one worker per connection until no job waits or `limit` is over.
    static func run(
        _ bench: BenchLedger,
        on server: LedgerServer,
        connections: Int,
        group: Int32 = group,
        for limit: Duration? = nil
    ) async throws -> Outcome {
        var workers: [(ledger: JobLedger, entry: WorkerEntry)] = []
        for number in 0..<connections {
            let ledger = try bench.opened(connections: 1)
            workers.append((ledger, try await BenchLedger.register("worker-\(number)", in: ledger)))
        }
        let outcome = try await bench.keepingHouse { [workers] in
            let before = try Self.ownSeconds() + server.cpuSeconds()
            let began = ContinuousClock.now
            let deadline = limit.map { began + $0 }
            let jobs = try await withThrowingTaskGroup { tasks in
                for worker in workers {
                    tasks.addTask { try await work(worker.ledger, worker.entry.worker, group, until: deadline) }
                }
                return try await tasks.reduce(0, +)
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            let spent = try Self.ownSeconds() + server.cpuSeconds() - before
            return Outcome(jobs: jobs, seconds: seconds, cpuSeconds: spent)
        }
        for worker in workers {
            try await worker.ledger.stop(worker.entry.worker)
            await worker.ledger.close()
        }
        return outcome
    }

    /// The processor time that this process has used so far.
    static func ownSeconds() throws -> Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else {
            throw SupportError("ask for our own times", errno: errno)
        }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func work(
        _ ledger: JobLedger,
        _ worker: Int64,
        _ group: Int32,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Int {
        var done = 0
        while deadline.map({ $0 > .now }) ?? true {
            let claims = try await ledger.claim(group, for: worker)
            guard claims.refused.isEmpty else { throw SupportError("claim jobs", "a recipe could not be read") }
            guard !claims.jobs.isEmpty else { break }
            try await BenchLedger.complete(claims.jobs, in: ledger)
            done += claims.jobs.count
        }
        return done
    }
}
