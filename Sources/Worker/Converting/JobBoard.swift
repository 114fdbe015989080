import Conversion
import Ledger
import Synchronization

/// All jobs that the worker holds. Every part reads it, the heartbeat as well, so no call blocks for long.
final class JobBoard: Sendable {
    private struct State {
        var jobs: [Fence: JobInHand] = [:]
        /// In the order of their claims.
        var queue: [Fence] = []
        var busy: [Int: Int] = [:]
        /// When each current conversion began.
        var converting: [Fence: ContinuousClock.Instant] = [:]
        /// Jobs that are done but not yet published or reported. Kept as a counter, because every claim and every
        /// start reads it and there may be a thousand jobs.
        var unpublished = 0
        /// When a job last left each slot.
        var freedAt: [Int: ContinuousClock.Instant] = [:]
        var planner: ClaimPlanner
        var isClosed = false

        /// The number of suspects: jobs that an earlier worker was running when it was lost. Suspects run one at a
        /// time, so that one that kills its worker does not take the others with it again.
        var suspects = 0

        /// The position in the queue of the job to start next. While a suspect runs, other suspects are skipped.
        var nextPlace: Int? {
            guard suspects > 1, let first = queue.first, isSuspect(first), isRunningASuspect else {
                return queue.indices.first
            }
            return queue.firstIndex { !isSuspect($0) }
        }

        /// The number of queued jobs that wait for a suspect to end.
        var heldUp: Int {
            guard suspects > 1 else { return 0 }
            return max(0, queue.count(where: isSuspect) - (isRunningASuspect ? 0 : 1))
        }

        private var isRunningASuspect: Bool { converting.keys.contains(where: isSuspect) }

        private func isSuspect(_ fence: Fence) -> Bool { jobs[fence]?.isSuspect == true }

        /// How long each current conversion has taken so far.
        var runningFor: [Duration] {
            let now = ContinuousClock.now
            return converting.values.map { now - $0 }
        }
    }

    private let state: Mutex<State>
    private let slots: Int
    private let unpublishedLimit: Int
    /// Signalled whenever a job is added, removed or changes its phase.
    let signal = WakeSignal()

    init(_ configuration: WorkerConfiguration) {
        slots = configuration.slots
        unpublishedLimit = configuration.unpublishedLimit
        state = Mutex(State(planner: ClaimPlanner(slots: configuration.slots, workAhead: configuration.workAhead)))
    }

    // MARK: - Coming

    func add(_ claims: [Claim], of session: Session) {
        state.withLock { state in
            let now = ContinuousClock.now
            for claim in claims {
                state.jobs[claim.fence] = JobInHand(claim: claim, session: session, claimedAt: now)
                state.queue.append(claim.fence)
                if claim.workersLost > 0 { state.suspects += 1 }
            }
        }
        signal.send()
    }

    /// How many jobs to claim now.
    var wanted: Int {
        state.withLock { state in
            guard !state.isClosed, state.unpublished < unpublishedLimit else { return 0 }
            // Held-up suspects do not keep other jobs from idle slots. But the worker stops claiming before
            // it collects too many of them.
            let heldUp = state.heldUp
            guard heldUp <= slots else { return 0 }
            return state.planner.wanted(
                queued: state.queue.count - heldUp,
                busySlots: state.busy.count,
                running: state.runningFor
            )
        }
    }

    // MARK: - Working

    /// The next job for one of a slot's pipelines; `nil` if there is none for it now.
    ///
    /// The first pipeline of a slot takes any job. The others only work while jobs are so short that it pays to
    /// prepare the next one during a conversion, and leave enough jobs for idle slots.
    func start(in slot: Int, pipeline: Int) -> JobInHand? {
        let job = state.withLock { state -> JobInHand? in
            guard !state.isClosed, state.unpublished < unpublishedLimit, let place = state.nextPlace else {
                return nil
            }
            if pipeline > 0 {
                guard state.planner.isShort, state.queue.count > slots - state.busy.count else { return nil }
            }
            let first = state.queue.remove(at: place)
            guard var job = state.jobs[first] else { return nil }
            job.phase = .converting
            job.slot = slot
            let now = ContinuousClock.now
            job.startedAt = now
            state.jobs[first] = job
            state.converting[first] = now
            state.busy[slot, default: 0] += 1
            return job
        }
        if job != nil { signal.send() }
        return job
    }

    /// Sets how to stop the conversion. Calls `cancel` at once if the job was stopped before.
    func began(_ fence: Fence, cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.jobs[fence]?.cancelConversion = cancel
            return state.jobs[fence]?.stop != nil
        }
        if isLate { cancel() }
    }

    func progressed(_ fence: Fence, _ progress: ConversionProgress) {
        state.withLock { state in
            state.jobs[fence]?.frames = progress.frames
            state.jobs[fence]?.totalFrames = progress.totalFrames
            if state.jobs[fence]?.speed?.note(progress, at: .now) == nil {
                state.jobs[fence]?.speed = SpeedMeter(progress, at: .now)
            }
        }
    }

    /// Frees the slot. If the work `counts`, the time that it took adjusts how much the worker claims.
    func converted(_ fence: Fence, in slot: Int, counts: Bool) {
        state.withLock { state in
            let now = ContinuousClock.now
            if counts, let startedAt = state.jobs[fence]?.startedAt {
                // Start counting when the slot's previous job left it, because this one may have waited for that.
                state.planner.note(now - max(startedAt, state.freedAt[slot] ?? startedAt))
            }
            state.freedAt[slot] = now
            state.converting[fence] = nil
            if state.jobs[fence] != nil { state.unpublished += 1 }
            state.jobs[fence]?.phase = .ending
            state.jobs[fence]?.convertedAt = now
            state.jobs[fence]?.cancelConversion = nil
            let left = (state.busy[slot] ?? 1) - 1
            state.busy[slot] = left == 0 ? nil : left
        }
        signal.send()
    }

    // MARK: - Ending

    /// Marks jobs as being published, after which nothing stops them. Returns those that may still be published.
    func beginPublishing(_ fences: [Fence]) -> Set<Fence> {
        state.withLock { state in
            var begun: Set<Fence> = []
            for fence in fences {
                guard let job = state.jobs[fence], job.isOurs, job.stop != .cancelled else { continue }
                state.jobs[fence]?.phase = .publishing
                begun.insert(fence)
            }
            return begun
        }
    }

    func job(_ fence: Fence) -> JobInHand? { state.withLock { $0.jobs[fence] } }

    func remove(_ fences: some Sequence<Fence>) {
        state.withLock { state in
            var hasQueued = false
            for fence in fences {
                let job = state.jobs.removeValue(forKey: fence)
                if job?.isSuspect == true { state.suspects -= 1 }
                switch job?.phase {
                case .queued: hasQueued = true
                case .ending, .publishing: state.unpublished -= 1
                case .converting, nil: break
                }
            }
            if hasQueued { state.queue.removeAll { state.jobs[$0] == nil } }
        }
        signal.send()
    }

    /// Takes jobs that have not begun off the queue, for the caller to hand back: all, or
    /// those for which `isMeant` holds.
    func takeQueued(_ isMeant: (JobInHand) -> Bool = { _ in true }) -> [JobInHand] {
        state.withLock { state in
            let meant = state.queue.compactMap { state.jobs[$0] }.filter(isMeant)
            let fences = Set(meant.map(\.fence))
            state.queue.removeAll { fences.contains($0) }
            for fence in fences { state.jobs[fence]?.phase = .ending }
            state.unpublished += meant.count
            return meant
        }
    }

    /// Stops the jobs for which `isMeant` holds, except those being published. A loss overrides any other reason.
    /// Returns the jobs that had not begun; the caller alone must deal with them.
    func stop(_ reason: StopReason, _ isMeant: (JobInHand) -> Bool) -> [JobInHand] {
        let (cancelled, waiting) = state.withLock { state in
            var (cancelled, waiting): ([@Sendable () -> Void], [JobInHand]) = ([], [])
            for (fence, job) in state.jobs where job.phase != .publishing && isMeant(job) {
                if job.stop == nil || reason.isLoss { state.jobs[fence]?.stop = reason }
                if let cancel = job.cancelConversion { cancelled.append(cancel) }
                if job.phase == .queued {
                    state.jobs[fence]?.phase = .ending
                    if let job = state.jobs[fence] { waiting.append(job) }
                }
            }
            let gone = Set(waiting.map(\.fence))
            if !gone.isEmpty { state.queue.removeAll { gone.contains($0) } }
            state.unpublished += waiting.count
            return (cancelled, waiting)
        }
        for cancel in cancelled { cancel() }
        signal.send()
        return waiting
    }

    /// Closes the board: no further job begins.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.send()
    }

    // MARK: - Looking

    var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }
    var fences: [Fence] { state.withLock { Array($0.jobs.keys) } }
    var busySlots: Int { state.withLock { $0.busy.count } }

    /// How many jobs wait in the queue, and how many have left it.
    var counts: (queued: Int, begun: Int) { state.withLock { ($0.queue.count, $0.jobs.count - $0.queue.count) } }

    /// The speed of each current conversion, for the heartbeat.
    func paces(in session: Session) -> [JobSpeed] {
        state.withLock { state in
            state.jobs.values.filter { $0.session === session && $0.phase == .converting }.compactMap { job in
                job.speed?.rounded(for: job.fence.job)
            }
        }
    }

    /// Whether a conversion that began at least `age` ago has made progress that no heartbeat has reported.
    func hasNews(in session: Session, after age: Duration) -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            return state.converting.contains { fence, begin in
                guard now - begin >= age, let job = state.jobs[fence] else { return false }
                return job.session === session && job.frames != nil && !job.isTold
            }
        }
    }

    /// The jobs of this session and their progress, for the heartbeat. Marks the progress as reported.
    func running(in session: Session) -> [RunningJob] {
        state.withLock { state in
            state.jobs.values.filter { $0.session === session && $0.phase != .publishing }.map { job in
                if job.frames != nil { state.jobs[job.fence]?.isTold = true }
                return RunningJob(
                    job.fence,
                    frames: job.frames,
                    totalFrames: job.totalFrames,
                    slot: job.slot.map { Int16(clamping: $0) }
                )
            }
        }
    }
}
