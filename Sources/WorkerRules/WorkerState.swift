import Conversion
import Ledger

/// What a worker knows, and all that it decides: which jobs to claim, what happens next with each, and when to pause,
/// to give up and to stop.
///
/// A value without I/O, threads or a clock. The stages of `Worker` report events with their times, carry out the
/// actions that follow, in their order, and report the results as further events. The lease model in
/// `Tests/LeaseModelTests` drives the same value through faults.
package struct WorkerState: Sendable {
    package typealias Moment = ContinuousClock.Instant

    package let settings: WorkerSettings

    // MARK: The jobs

    var jobs: [Fence: HeldJob] = [:]
    var queue = JobQueue()
    /// The number of jobs that each slot works on, if there are any.
    var busy: [Int: Int] = [:]
    var idle: Set<Pipeline>
    /// When each current conversion began. Kept apart, because every event may ask for it and a thousand jobs may wait.
    var running: [Fence: Moment] = [:]
    /// When a job last left each slot.
    var freedAt: [Int: Moment] = [:]
    /// Jobs that are done but not yet published or reported. Kept as a counter, because every claim and every
    /// start reads it and there may be a thousand jobs.
    var unpublished = 0
    var planner: ClaimPlanner

    // MARK: Publishing and reporting

    /// Jobs that wait for their turn with the publisher.
    var ready = ReadyJobs()
    /// What the publisher is doing; `nil` if it is idle.
    var turn: PublishingTurn?

    // MARK: The ledger

    /// `nil` before the registration, and from the loss of a lease until the next registration.
    package internal(set) var session: Session?
    /// The worker's number in the ledger by its last registration.
    package internal(set) var worker: Int64?
    /// The length of the present lease, or of the last one.
    package internal(set) var leaseLength: Duration = .zero
    var wish = WorkerWish.run
    /// Whether a question is unanswered.
    var isAsking = false
    /// Whether the last claim found no work, and no signal of new work has arrived since.
    var isDry = false
    /// Whether a call may have taken jobs of which the worker does not know.
    var isInDoubt = false
    /// When to compare the jobs with those that the ledger counts as held.
    var comparisonDue: Moment?
    /// The jobs held when the ledger was asked which it counts as held.
    var heldBefore: Set<Fence> = []

    // MARK: The machine

    var health: HealthWatch
    /// The roots that are set aside, and why.
    var absentRoots: [String: String] = [:]
    /// Those of them whose file systems do not answer.
    var silentRoots: Set<String> = []
    var rootsChange = -1
    /// What this worker can do now, in the ledger's ability words. Kept, because every event compares it.
    package internal(set) var abilities: [String]

    // MARK: The stop

    var stopping: Stopping?

    var dice: Jitter
    var actions: [Action] = []

    package init(_ settings: WorkerSettings) {
        self.settings = settings
        planner = ClaimPlanner(slots: settings.slots, workAhead: settings.workAhead)
        health = HealthWatch(firstPause: settings.firstPause, longestPause: settings.longestPause)
        abilities = Self.abilities(settings, absent: [])
        dice = Jitter(state: settings.seed)
        idle = Set(
            (0..<settings.slots).flatMap { slot in
                (0..<settings.pipelinesPerSlot).map { Pipeline(slot: slot, number: $0) }
            }
        )
    }

    /// Whether the worker holds no job.
    package var isEmpty: Bool { jobs.isEmpty }

    /// Whether a conversion is running.
    package var isConverting: Bool { !running.isEmpty }

    /// The number of slots that work on a job.
    package var busySlots: Int { busy.count }

    // MARK: - Events in, actions out

    /// Takes note of an event and decides what follows. The caller carries out the actions in their order.
    package mutating func handle(_ event: Event, at now: Moment) -> [Action] {
        // A worker that was suspended must not act on a lease that has ended meanwhile.
        giveUpIfOver(at: now)
        note(event, at: now)
        settle(at: now)
        defer { actions = [] }
        return actions
    }

    private mutating func note(_ event: Event, at now: Moment) {
        switch event {
        case .registered(let entry, let abilities): begin(entry, abilities, at: now)
        case .beatAnswered(let reply, let worker, let reported): adopt(reply, of: worker, for: reported, at: now)
        case .beatUnanswered(let worker): missBeat(of: worker, at: now)
        case .refused(let worker): if worker == session?.worker { loseLease(at: now) }

        case .workSignalled: isDry = false
        case .claimed(let claims, let worker, let isEmpty): hearClaim(claims, worker, isEmpty: isEmpty, at: now)
        case .compared(let held, let worker): compare(held, worker, at: now)
        case .straysReleased: isAsking = false
        case .abilitiesReported(let abilities, let worker): hearAbilities(abilities, worker)
        case .rootsChecked: hearRootsChecked(at: now)
        case .questionFailed(let mayHaveHappened):
            isAsking = false
            isDry = false
            isInDoubt = isInDoubt || mayHaveHappened

        case .cancellable(let fence): if jobs[fence]?.stop != nil { actions.append(.cancelConversion(fence)) }
        case .began(let fence): jobs[fence]?.hasBegun = true
        case .progressed(let fence, let progress):
            jobs[fence]?.progressed(progress, at: now)
            handBackJobs(behind: fence, at: now)
        case .ended(let fence, let result): end(fence, result, at: now)
        case .digested(let fence, let problem): digested(fence, problem, at: now)

        case .linked(let linked, let others): hearLinked(linked, others, at: now)
        case .published(let answers): hearPublished(answers, at: now)
        case .completed(let results): hearCompleted(results, at: now)
        case .failuresReported(let reports, let answers): hearFailures(reports, answers, at: now)
        case .handedBack(let fences, let reason, let answers): hearHandedBack(fences, reason, answers)

        case .rootsChanged(let absent, let silent, let change): changeRoots(absent, silent, change, at: now)
        case .stopAsked(let deadline): stop(by: deadline)
        case .timePassed: break
        }
    }

    /// Decides everything that may follow from the present state.
    private mutating func settle(at now: Moment) {
        handBackLateJobs(at: now)
        continueStopping(at: now)
        startJobs(at: now)
        takePublishingTurn(at: now)
        askQuestion(at: now)
    }

    /// The next time at which something may follow without an event; `nil` if there is none.
    package func deadline(after now: Moment) -> Moment? {
        var next = [session?.end, stopping?.deadline, lateAt]
        if case .paused(_, let until) = health.state, !isAsking { next.append(until) }
        if !isAsking, session != nil { next.append(comparisonDue) }
        return next.compactMap(\.self).min()
    }
}

/// Numbers that are random enough to spread the workers' calls, and the same for the same seed.
struct Jitter: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// About `duration`: a fifth more or less at most.
    mutating func about(_ duration: Duration) -> Duration { duration * Double.random(in: 0.8...1.2, using: &self) }
}
