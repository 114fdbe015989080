import Conversion
import Ledger
import Synchronization
import TestSupport

/// The delay until a worker claims a job, with jobs submitted one by one.
enum PickUp {
    /// Milliseconds, sorted.
    struct Outcome {
        let fromCall: [Double]
        let fromAnswer: [Double]
    }

    /// The times at which each job was submitted, acknowledged and claimed, by job id.
    private struct Times {
        var called: [Int64: ContinuousClock.Instant] = [:]
        var answered: [Int64: ContinuousClock.Instant] = [:]
        var claimed: [Int64: ContinuousClock.Instant] = [:]
    }

    /// Collects the times from several tasks.
    private final class Book: Sendable {
        let times = Mutex(Times())
    }

    /// Submits `rate` jobs a second, one per submission, and returns when all of them have been claimed.
    static func run(_ bench: BenchLedger, rate: Int, seconds: Int) async throws -> Outcome {
        let count = rate * seconds
        let book = Book()
        try await bench.keepingHouse {
            try await withThrowingTaskGroup { group in
                for number in 1...2 { group.addTask { try await work(bench, number, book, until: count) } }
                group.addTask { try await submit(bench, count, rate: rate, book) }
                try await group.waitForAll()
            }
        }
        let times = book.times.withLock { $0 }
        guard times.claimed.count == count, times.answered.count == count else {
            throw SupportError("pick up \(count) jobs", "\(times.claimed.count) were claimed")
        }
        func waits(since start: [Int64: ContinuousClock.Instant]) -> [Double] {
            start.compactMap { job, moment in times.claimed[job].map { ($0 - moment) / .milliseconds(1) } }.sorted()
        }
        return Outcome(fromCall: waits(since: times.called), fromAnswer: waits(since: times.answered))
    }

    /// Starts each submission on schedule, whether or not the earlier ones have been answered.
    private static func submit(_ bench: BenchLedger, _ count: Int, rate: Int, _ book: Book) async throws {
        let ledger = try bench.opened(connections: 8)
        // Gives the workers time to register and begin to listen.
        let start = ContinuousClock.now + .seconds(1)
        try await withThrowingTaskGroup { group in
            for number in 0..<count {
                let moment = start + .seconds(1) * number / rate
                try await Task.sleep(until: moment, tolerance: .zero, clock: .continuous)
                group.addTask {
                    let called = ContinuousClock.now
                    let job = try await ledger.submit(Submission(), BenchLedger.requests(1)).firstJob
                    let answered = ContinuousClock.now
                    book.times.withLock {
                        $0.called[job] = called
                        $0.answered[job] = answered
                    }
                }
            }
            try await group.waitForAll()
        }
        await ledger.close()
    }

    /// Claims on every signal, and reports in a separate task, so that reports do not delay claims.
    private static func work(_ bench: BenchLedger, _ number: Int, _ book: Book, until count: Int) async throws {
        let ledger = try bench.opened(connections: 2)
        let worker = try await BenchLedger.register("worker-\(number)", in: ledger).worker
        let (done, reporting) = AsyncStream.makeStream(of: [Claim].self)
        try await withThrowingTaskGroup { group in
            group.addTask {
                for await claims in done { try await BenchLedger.complete(claims, in: ledger) }
            }
            let wanted: Int32 = 50
            signals: for await _ in ledger.workSignals() {
                var isMore = true
                while isMore {
                    let claims = try await ledger.claim(wanted, for: worker).jobs
                    let now = ContinuousClock.now
                    let isOver = book.times.withLock { times in
                        for claim in claims { times.claimed[claim.fence.job] = now }
                        return times.claimed.count == count
                    }
                    if !claims.isEmpty { reporting.yield(claims) }
                    if isOver { break signals }
                    isMore = claims.count == Int(wanted)
                }
            }
            reporting.finish()
            try await group.waitForAll()
        }
        try await ledger.stop(worker)
        await ledger.close()
    }
}
