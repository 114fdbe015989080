import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// Waits until jobs or batches have ended.
struct Waiting: Sendable {
    var jobs: [Int64] = []
    var batches: [Int64] = []
    /// Further batches, whose numbers the ledger knows.
    var names: [BatchName] = []
    /// Whether the end of one job or batch is enough.
    var takesAny = false
    /// `nil` means no limit.
    var limit: Duration?
    /// Whether to look how far the running jobs are, where they are a part of the whole that is seen.
    var followsRunning = false

    /// The state of the jobs and batches to wait for.
    struct State: Sendable {
        var batches: [BatchSummary] = []
        var jobs: [JobSummary] = []
        var isOver = false
        /// How many jobs the done parts of the running ones make together.
        var partlyDone = 0.0
        /// How many of the running ones that are seen have been claimed ahead: no room converts them yet.
        var claimed = 0
        /// Why no job runs, although some have not ended.
        var obstacle: Obstacle?

        /// Whether a job runs or is published.
        var isMoving: Bool { counts.running + counts.publishing > 0 }

        /// The jobs that no batch here counts.
        var jobsAlone: [JobSummary] {
            let counted = Set(batches.map(\.batch))
            return jobs.filter { !counted.contains($0.batch) }
        }

        /// The sum over all jobs and batches. Each job counts once.
        var counts: JobCounts {
            var counts = JobCounts()
            let jobs = jobsAlone
            for state in JobState.allCases {
                counts[state] = batches.reduce(0) { $0 + $1.jobs[state] } + jobs.count { $0.state == state }
            }
            return counts
        }
    }

    /// The reason why one of the jobs waits, while none runs.
    struct Obstacle: Sendable {
        let job: Int64
        let reason: WaitReason
        /// Whether no worker runs at all.
        let lacksWorkers: Bool

        /// Stays the same while only times change.
        var kind: String { lacksWorkers ? "workers" : reason.why.rawValue }

        var text: String {
            lacksWorkers
                ? "nothing runs: no workers are running; start one with \"sluice worker\""
                : "nothing runs; job \(job) waits: \(reason.text)"
        }
    }

    /// How the wait ended.
    struct Ending: Sendable {
        var state: State
        var isTimedOut = false
        /// The codes of the failed jobs, and how many failed with each.
        var failures: [(code: String, jobs: Int)] = []

        /// Success if all jobs that ended were completed, or their failures accepted. With `takesAny`, jobs that have not
        /// ended do not count.
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

    /// Where the ledger tells of changes, within a second, a look is needed only to learn why nothing happens. Before
    /// it has told of the first ones, short work has ended.
    private static let (pauseWithEvents, eventsCountAfter): (Duration, Duration) = (.seconds(5), .seconds(2))

    /// Looks repeatedly and calls `report` each time. Throws a `Refusal` if a job or a batch does not exist.
    func run(on ledger: any CommandLedger, _ console: CommandOutput, report: @Sendable (State) -> Void) async throws
        -> Ending
    {
        let start = ContinuousClock.now
        var endurance = Endurance(console: console)
        var state = State()
        var movedAt = start
        var lookedForObstacleAt: ContinuousClock.Instant?
        let change = ChangeSignal()
        var listener: (any ChangeListening)?
        defer { listener?.stop() }
        while true {
            if let now = try await endurance.look({ try await look(ledger) }) {
                if now.isMoving || now.counts.ended > state.counts.ended { movedAt = .now }
                let old = state.obstacle
                state = now
                if !now.isMoving, !now.isOver {
                    state.obstacle = old
                    if lookedForObstacleAt.map({ .now - $0 > Self.obstaclePause }) ?? true {
                        let stillness = ContinuousClock.now - movedAt
                        if let found = try await endurance.look({ try await obstacle(in: now, ledger, stillness) }) {
                            state.obstacle = found
                        }
                        lookedForObstacleAt = .now
                    }
                }
                report(state)
            }
            if state.isOver { return try await ending(state, ledger, &endurance) }
            let waited = ContinuousClock.now - start
            if let limit, waited >= limit {
                var ending = try await ending(state, ledger, &endurance)
                ending.isTimedOut = true
                return ending
            }
            // Short work ends before there would be an event.
            if listener == nil, waited >= .seconds(1) {
                listener = ledger.listen(to: ChangeWishes(batches: batches, jobs: jobs)) { change.set() }
            }
            // The database sends no notification when a job ends: see `LookPause`.
            let rest = limit.map { $0 - waited } ?? .seconds(3_600)
            let pause = min(Self.pause(after: waited), rest)
            try await Task.sleep(for: pause)
            if listener?.isReceiving == true, waited >= Self.eventsCountAfter, rest > pause {
                try await change.wait(atMost: min(Self.pauseWithEvents, rest) - pause)
            }
        }
    }

    /// If the ledger is unreachable at this moment, the ending lacks the codes of failures in batches.
    private func ending(_ state: State, _ ledger: any CommandLedger, _ endurance: inout Endurance) async throws
        -> Ending
    {
        var failures: [String: Int] = [:]
        for job in state.jobsAlone where job.state == .failed { failures[job.code ?? "unknown", default: 0] += 1 }
        for batch in state.batches where batch.jobs.failed > 0 {
            for group in try await endurance.look({
                try await ledger.failures(since: nil, queue: nil, batch: batch.batch)
            }) ?? [] {
                failures[group.code, default: 0] += group.jobs
            }
        }
        let groups = failures.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return Ending(state: state, failures: groups.map { ($0.key, $0.value) })
    }

    /// How often to ask why nothing runs.
    private static let obstaclePause: Duration = .seconds(2)
    /// For how long jobs may wait for their turn, or for workers that only just started, without a message.
    private static let patience: Duration = .seconds(10)

    private func obstacle(in state: State, _ ledger: any CommandLedger, _ stillness: Duration) async throws -> Obstacle?
    {
        var waiting = state.jobs.first { !$0.state.isEnd }?.job
        if waiting == nil, let batch = state.batches.first(where: { $0.jobs.open > 0 }) {
            let filter = JobFilter(states: [.waiting, .delayed], batch: batch.batch)
            waiting = try await ledger.jobs(matching: filter, after: nil, limit: 1).jobs.first?.job
        }
        let now = try await ledger.time()
        guard let waiting, let story = try await ledger.story(of: waiting), let reason = WaitReason(story, at: now)
        else { return nil }
        switch reason.why {
        case .unable:
            let workers: [WorkerSummary]?
            do {
                workers = try await ledger.workers(endedSince: nil)
            } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
                // Tenants learn nothing of workers.
                workers = nil
            }
            let lacksWorkers = workers.map { WorkerCensus($0, at: now).alive == 0 } ?? false
            return Obstacle(job: waiting, reason: reason, lacksWorkers: lacksWorkers)
        case .line where stillness < Self.patience, .album where stillness < Self.patience: return nil
        case .paused, .limit, .cpuMinutes, .outputBytes, .runAt, .backOff, .album, .line:
            return Obstacle(job: waiting, reason: reason, lacksWorkers: false)
        }
    }

    /// The most jobs of which a part of one is seen.
    private static let fewJobs: Int64 = 1_000

    private func seenRunning(_ state: State, _ ledger: any CommandLedger) async throws -> [JobSummary] {
        var running = state.jobsAlone.filter { $0.state == .running }
        for batch in state.batches where batch.jobs.running > 0 && batch.jobs.total <= Self.fewJobs {
            let filter = JobFilter(states: [.running], batch: batch.batch)
            running += try await ledger.jobs(matching: filter, after: nil, limit: 1_000).jobs
        }
        return running
    }

    private func look(_ ledger: any CommandLedger) async throws -> State {
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
        if followsRunning, !state.isOver {
            let running = try await seenRunning(state, ledger)
            state.partlyDone = running.reduce(0) { $0 + ($1.share ?? 0) }
            state.claimed = running.count { $0.slot == nil }
        }
        return state
    }
}
