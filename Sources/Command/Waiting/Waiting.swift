import FoundationEssentials
import Ledger

/// Waits until jobs or batches have ended.
struct Waiting: Sendable {
    var jobs: [Int64] = []
    var batches: [Int64] = []
    /// Whether one that has ended is enough.
    var takesAny = false
    /// `nil` waits as long as it takes.
    var limit: Duration?

    /// How far everything is that is waited for.
    struct State: Sendable {
        var batches: [BatchSummary] = []
        var jobs: [JobSummary] = []
        var isOver = false

        /// All of it in numbers.
        var counts: JobCounts {
            var counts = JobCounts()
            for state in JobState.allCases {
                counts[state] = batches.reduce(0) { $0 + $1.jobs[state] } + jobs.count { $0.state == state }
            }
            return counts
        }
    }

    /// What stood at the end.
    struct Ending: Sendable {
        var state: State
        var isTimedOut = false

        /// 0 if all that ended was completed; what `takesAny` did not wait for does not count.
        var exitCode: ExitCode {
            if isTimedOut { return .waitTimeout }
            let counts = state.counts
            return counts.failed + counts.cancelled > 0 ? .someFailed : .success
        }
    }

    /// How long to wait between looks: short work is over soon, and long work can wait.
    private static func pause(after waited: Duration) -> Duration {
        min(max(waited / 20, .milliseconds(50)), .seconds(1))
    }

    /// Looks again and again, telling `report` each time. Throws a `Refusal` if there is no such thing.
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
            // The ledger does not notify of a job's end: see LookPause.
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
                    // Between two states it may be missed in a list; nothing is missed by its number.
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
            // What has not ended is not what was waited for.
            state.batches = state.batches.filter { $0.jobs.open == 0 }
            state.jobs = state.jobs.filter(\.state.isEnd)
        }
        return state
    }
}
