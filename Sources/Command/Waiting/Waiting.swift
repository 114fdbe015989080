import FoundationEssentials
import Ledger

/// Waits until jobs or batches have ended.
struct Waiting: Sendable {
    var jobs: [Int64] = []
    var batches: [Int64] = []
    /// Whether the end of one job or batch is enough.
    var takesAny = false
    /// `nil` means no limit.
    var limit: Duration?

    /// The state of the jobs and batches to wait for.
    struct State: Sendable {
        var batches: [BatchSummary] = []
        var jobs: [JobSummary] = []
        var isOver = false

        /// The sum over all jobs and batches.
        var counts: JobCounts {
            var counts = JobCounts()
            for state in JobState.allCases {
                counts[state] = batches.reduce(0) { $0 + $1.jobs[state] } + jobs.count { $0.state == state }
            }
            return counts
        }
    }

    /// How the wait ended.
    struct Ending: Sendable {
        var state: State
        var isTimedOut = false

        /// Success if all jobs that ended were completed. With `takesAny`, jobs that have not ended do not count.
        var exitCode: ExitCode {
            if isTimedOut { return .waitTimeout }
            let counts = state.counts
            return counts.failed + counts.cancelled > 0 ? .someFailed : .success
        }
    }

    /// How long to pause between looks: short for a recent start, so that short work ends promptly, then longer.
    private static func pause(after waited: Duration) -> Duration {
        min(max(waited / 20, .milliseconds(50)), .seconds(1))
    }

    /// Looks repeatedly and calls `report` each time. Throws a `Refusal` if a job or a batch does not exist.
    func run(on ledger: JobLedger, _ console: Console, report: @Sendable (State) -> Void) async throws -> Ending {
        let start = ContinuousClock.now
        var endurance = Endurance(console: console)
        var state = State()
        while true {
            if let now = try await endurance.look({ try await look(ledger) }) {
                state = now
                report(state)
            }
            if state.isOver { return Ending(state: state) }
            let waited = ContinuousClock.now - start
            if let limit, waited >= limit { return Ending(state: state, isTimedOut: true) }
            // The ledger sends no notification when a job ends: see `LookPause`.
            let pause = Self.pause(after: waited)
            try await Task.sleep(for: limit.map { min(pause, $0 - waited) } ?? pause)
        }
    }

    private func look(_ ledger: JobLedger) async throws -> State {
        var state = State()
        for id in batches {
            guard let batch = try await ledger.batch(id) else { throw Refusal.missing("batch \(id)") }
            state.batches.append(batch)
        }
        if !jobs.isEmpty {
            var found: [Int64: JobSummary] = [:]
            var cursor: JobCursor?
            repeat {
                let page = try await ledger.jobs(matching: JobFilter(ids: jobs), after: cursor, limit: 1_000)
                for job in page.jobs { found[job.job] = job }
                cursor = page.next
            } while cursor != nil
            for id in jobs {
                guard let job = found[id] else {
                    // A list may miss a job that is changing its state; a look-up by id does not.
                    guard let job = try await ledger.story(of: id)?.summary else { throw Refusal.missing("job \(id)") }
                    state.jobs.append(job)
                    continue
                }
                state.jobs.append(job)
            }
        }
        let ends = state.batches.map { $0.jobs.open == 0 } + state.jobs.map(\.state.isEnd)
        state.isOver = takesAny ? ends.contains(true) : !ends.contains(false)
        if takesAny, state.isOver {
            // With `takesAny`, only the jobs and batches that have ended belong to the result.
            state.batches = state.batches.filter { $0.jobs.open == 0 }
            state.jobs = state.jobs.filter(\.state.isEnd)
        }
        return state
    }
}
