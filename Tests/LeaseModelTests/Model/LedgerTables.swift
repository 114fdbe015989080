/// The ledger's tables, changed as its SQL functions change them. Each mutating function is one transaction.
///
/// They have no clock: `t` is the ledger's time at the call. `ReplayTests` holds them against the SQL functions.
struct LedgerTables: Hashable, Sendable {
    enum State: UInt8, Sendable { case delayed, waiting, running, publishing, completed, failed, cancelled }

    /// One job: its row in the table that currently holds it.
    struct Job: Hashable, Sendable {
        let request: Int
        var state = State.waiting
        var epoch = 0
        var spent = 0
        var lost = 0
        /// Fields of the last claim. Valid only while the row is in `running` or `publishing`.
        var lease = 0
        var worker = 0
        var cancelAsked = false
        /// When its frames last grew, as far as the ledger saw.
        var movedAt: Milliseconds = 0
        var readyAt: Milliseconds = 0
        var publishedAt: Milliseconds = 0
        var handedAt: Milliseconds = 0
        /// The output to rename, or, once completed, the renamed output.
        var order: Order?
        var reason: Reason?

        // Only the model knows these. A failover that loses the tail loses them too.
        /// Failures that the job itself caused, since it was submitted or retried.
        var genuineFailures = 0
        var endings = 0

        var fence: Fence { Fence(job: 0, epoch: epoch, lease: lease) }
    }

    struct Worker: Hashable, Sendable {
        let key: Int
        var leaseUntil: Milliseconds
        /// When it was last heard from after its lease had ended.
        var revivedAt: Milliseconds = .min
        var hasEnded = false
        /// Claims with lower numbers take nothing.
        var claimsFrom = 0
    }

    enum Outcome: UInt8, Sendable { case completed, failed, lost, released, cancelled }

    struct Attempt: Hashable, Sendable {
        let job: Int
        let epoch: Int
        let lease: Int
        let outcome: Outcome
    }

    private(set) var jobs: [Job] = []
    private(set) var workers: [Worker] = []
    private(set) var attempts: [Attempt] = []
    /// When housekeeping last ticked, on which start of which server, and the time before which no worker is reaped.
    private(set) var tickAt: Milliseconds?
    private(set) var tickServer = 0
    private(set) var quietUntil = Milliseconds.min
    /// Fences that housekeeping has ended. Their workers may not know yet.
    private(set) var takenAway: [Fence] = []
    /// How often a call has revived a lease that had ended.
    private(set) var revivals = 0
    /// A promise that the last function broke.
    private var breach: Violation?

    var hasLiveJobs: Bool {
        for job in jobs where job.state.rawValue < State.completed.rawValue { return true }
        return false
    }

    private mutating func broke(_ promise: Violation) { breach = promise }

    /// Returns the promise that the last function broke, if any, and clears it.
    mutating func takeBreach() -> Violation? {
        defer { breach = nil }
        return breach
    }

    // MARK: - submit, cancel_jobs, retry_jobs

    /// Queues a request under its key.
    mutating func submit(_ request: Int, under guards: Guards) {
        for job in jobs where job.request == request {
            if guards.stand(.submissionKey) { return }
            broke(.jobDoubled)
        }
        jobs.append(Job(request: request))
    }

    mutating func cancel(_ job: Int) {
        switch jobs[job].state {
        case .waiting, .delayed: end(job, as: .cancelled)
        case .running: jobs[job].cancelAsked = true
        default: break
        }
    }

    mutating func retry(_ job: Int, at t: Milliseconds, under guards: Guards) {
        switch jobs[job].state {
        case .delayed where jobs[job].readyAt > t:
            jobs[job].state = .waiting
        // Any process may take an overdue publication at once.
        case .publishing where jobs[job].publishedAt + Times.publishGrace < t:
            jobs[job].handedAt = .min
        case .failed, .cancelled:
            jobs[job].state = .waiting
            (jobs[job].spent, jobs[job].lost, jobs[job].genuineFailures, jobs[job].endings) = (0, 0, 0, 0)
            jobs[job].reason = nil
            jobs[job].order = nil
            if !guards.stand(.epochSurvivesRetry) { jobs[job].epoch = 0 }
        default: break
        }
    }

    // MARK: - register_worker, claim, held, beat, stop_worker

    mutating func register(key: Int, at t: Milliseconds) -> WorkerName {
        workers.append(Worker(key: key, leaseUntil: t + Times.lease))
        return WorkerName(id: workers.count - 1, key: key)
    }

    /// The row of a worker; `nil` if no worker has that name.
    private func row(of worker: WorkerName, under guards: Guards) -> Int? {
        guard worker.id < workers.count else { return nil }
        return workers[worker.id].key == worker.key || !guards.stand(.workerKey) ? worker.id : nil
    }

    /// Claims up to `wanted` jobs. `nil`: the worker has been ended.
    mutating func claim(
        _ worker: WorkerName,
        wanted: Int,
        number: Int,
        lease: Int,
        at t: Milliseconds,
        under guards: Guards
    ) -> [Fence]? {
        guard let me = row(of: worker, under: guards) else { return nil }
        if workers[me].hasEnded && guards.stand(.claimNeedsWorker) { return nil }
        if workers[me].leaseUntil <= t { renew(me, at: t) }
        if number < workers[me].claimsFrom && guards.stand(.claimsAreBarred) { return [] }
        wakeDelayed(at: t)
        var taken: [Fence] = []
        for job in jobs.indices where taken.count < wanted && jobs[job].state == .waiting {
            if guards.stand(.epochGrows) || jobs[job].epoch == 0 { jobs[job].epoch += 1 }
            jobs[job].state = .running
            jobs[job].lease = lease
            jobs[job].worker = me
            jobs[job].movedAt = t
            jobs[job].cancelAsked = false
            taken.append(Fence(job: job, epoch: jobs[job].epoch, lease: lease))
        }
        if !taken.isEmpty && workers[me].hasEnded { broke(.claimedByEnded) }
        return taken
    }

    private mutating func renew(_ worker: Int, at t: Milliseconds) {
        if workers[worker].leaseUntil <= t { (revivals, workers[worker].revivedAt) = (revivals + 1, t) }
        workers[worker].leaseUntil = t + Times.lease
    }

    /// Bars a worker's claims up to that number, so that late ones take nothing.
    mutating func barClaims(of worker: WorkerName, upTo number: Int, under guards: Guards) {
        guard let me = row(of: worker, under: guards) else { return }
        workers[me].claimsFrom = max(workers[me].claimsFrom, number + 1)
    }

    /// All jobs that a worker holds.
    func held(_ worker: WorkerName, under guards: Guards) -> [Fence] {
        guard let me = row(of: worker, under: guards) else { return [] }
        var fences: [Fence] = []
        for job in jobs.indices where jobs[job].state == .running && jobs[job].worker == me {
            fences.append(Fence(job: job, epoch: jobs[job].epoch, lease: jobs[job].lease))
        }
        return fences
    }

    /// Renews a lease. Returns the lost fences and those to stop; `nil` if the worker has lost everything.
    mutating func beat(
        _ worker: WorkerName,
        _ fences: [Fence],
        at t: Milliseconds,
        under guards: Guards
    ) -> (lost: [Fence], cancelled: [Fence])? {
        guard let me = row(of: worker, under: guards) else { return nil }
        if workers[me].hasEnded && guards.stand(.beatNeedsWorker) { return nil }
        if workers[me].hasEnded { broke(.endedRevived) }
        renew(me, at: t)
        var lost: [Fence] = []
        var cancelled: [Fence] = []
        for fence in fences {
            let state = fits(fence, anyFence: false, under: guards) ? jobs[fence.job].state : .waiting
            if state != .running && state != .publishing { lost.append(fence) }
            // A job that its worker reports moves. A job that it does not report stands still.
            if state == .running { jobs[fence.job].movedAt = t }
            if state == .running && jobs[fence.job].cancelAsked { cancelled.append(fence) }
        }
        return (lost, cancelled)
    }

    /// Ends a worker and returns its jobs. `false`: the transaction failed and changed nothing.
    mutating func end(worker me: Int, isLost: Bool, at t: Milliseconds, under guards: Guards) -> Bool {
        let before = self
        workers[me].hasEnded = true
        for job in jobs.indices where jobs[job].state == .running && jobs[job].worker == me {
            let reason = Reason(failureClass: .infrastructure, code: .workerLost, isGenuine: false)
            if isLost { takeAway(job) }
            guard endAttempt(job, isLost ? .lost : .released, reason, at: t, under: guards) else {
                self = before
                return false
            }
        }
        return true
    }

    mutating func stop(_ worker: WorkerName, at t: Milliseconds, under guards: Guards) -> Bool {
        guard let me = row(of: worker, under: guards) else { return true }
        return end(worker: me, isLost: false, at: t, under: guards)
    }

    // MARK: - The fence

    /// Whether the job's row has this fence, in any table.
    private func fits(_ fence: Fence, anyFence: Bool, under guards: Guards) -> Bool {
        guard fence.job < jobs.count else { return false }
        if anyFence { return true }
        return (jobs[fence.job].epoch == fence.epoch || !guards.stand(.epochInFence))
            && (jobs[fence.job].lease == fence.lease || !guards.stand(.leaseInFence))
    }

    private mutating func takeAway(_ job: Int) {
        takenAway.append(Fence(job: job, epoch: jobs[job].epoch, lease: jobs[job].lease))
    }

    private func answer(for fence: Fence, _ said: Outcome) -> FenceAnswer {
        for attempt in attempts
        where attempt.job == fence.job && attempt.epoch == fence.epoch && attempt.lease == fence.lease {
            return attempt.outcome == said ? .repeated : attempt.outcome == .cancelled ? .cancelled : .lost
        }
        return .lost
    }

    // MARK: - publish, finish, fail, release

    /// Moves a job from `running` to `publishing`. `nil`: the transaction failed and changed nothing.
    mutating func publish(_ order: Order, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let (fence, job) = (order.fence, order.fence.job)
        let isFitting = fits(fence, anyFence: !guards.stand(.publishFence), under: guards)
        let isThere = isFitting && (jobs[job].state == .running || !guards.stand(.rowInFence) && jobs[job].lease > 0)
        if isThere {
            if jobs[job].cancelAsked {
                if guards.stand(.cancelStopsPublishing) {
                    return endAttempt(job, .cancelled, nil, at: t, under: guards) ? .cancelled : nil
                }
                broke(.cancelledJobCompleted)
            }
            jobs[job].state = .publishing
            jobs[job].order = order
            (jobs[job].publishedAt, jobs[job].handedAt) = (t, t)
            return .done
        }
        if isFitting && jobs[job].state == .publishing { return .repeated }
        return answer(for: fence, .completed)
    }

    /// Moves a job from `publishing` to `finished`.
    mutating func finish(_ fence: Fence, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        guard fits(fence, anyFence: !guards.stand(.finishFence), under: guards),
            jobs[fence.job].state == .publishing || !guards.stand(.rowInFence) && jobs[fence.job].order != nil
        else { return answer(for: fence, .completed) }
        guard record(fence.job, .completed) else { return nil }
        jobs[fence.job].spent += 1
        end(fence.job, as: .completed)
        return .done
    }

    mutating func fail(_ fence: Fence, _ reason: Reason, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let isFitting = fits(fence, anyFence: !guards.stand(.failFence), under: guards)
        let state = isFitting ? jobs[fence.job].state : .waiting
        let isRunning = state == .running || isFitting && !guards.stand(.rowInFence) && state != .publishing
        if isRunning || state == .publishing {
            let isCancelled = jobs[fence.job].cancelAsked && isRunning
            guard endAttempt(fence.job, .failed, reason, at: t, under: guards) else { return nil }
            return isCancelled ? .cancelled : .done
        }
        return answer(for: fence, .failed)
    }

    mutating func release(_ fence: Fence, at t: Milliseconds, under guards: Guards) -> FenceAnswer? {
        let isFitting = fits(fence, anyFence: !guards.stand(.releaseFence), under: guards)
        guard isFitting, jobs[fence.job].state == .running || !guards.stand(.rowInFence) else {
            if isFitting && jobs[fence.job].state == .publishing { return .publishing }
            return answer(for: fence, .released)
        }
        let isCancelled = jobs[fence.job].cancelAsked
        let reason = Reason(failureClass: .infrastructure, code: .workerLost, isGenuine: false)
        guard endAttempt(fence.job, .released, reason, at: t, under: guards) else { return nil }
        return isCancelled ? .cancelled : .done
    }

    // MARK: - end_attempts

    /// Adds an attempt. `false` if the job and epoch have one already, because no function may change that.
    private mutating func record(_ job: Int, _ outcome: Outcome) -> Bool {
        for attempt in attempts where attempt.job == job && attempt.epoch == jobs[job].epoch { return false }
        attempts.append(Attempt(job: job, epoch: jobs[job].epoch, lease: jobs[job].lease, outcome: outcome))
        return true
    }

    private mutating func end(_ job: Int, as state: State) {
        jobs[job].state = state
        jobs[job].endings += 1
        if jobs[job].endings > 1 { broke(.endedTwice) }
    }

    /// Records an attempt that ended without an output, and moves its job to the next state.
    private mutating func endAttempt(
        _ job: Int,
        _ outcome: Outcome,
        _ reason: Reason?,
        at t: Milliseconds,
        under guards: Guards
    ) -> Bool {
        let isCancelled = outcome == .cancelled || jobs[job].cancelAsked && jobs[job].state == .running
        guard record(job, isCancelled ? .cancelled : outcome) else { return false }
        jobs[job].reason = reason
        let failure = outcome == .failed ? reason?.failureClass : nil
        let isLoss = outcome == .lost || failure == .infrastructure
        if isLoss { jobs[job].lost += 1 }
        if outcome == .failed && reason?.isGenuine == true { jobs[job].genuineFailures += 1 }
        let isSpent = outcome == .failed && !isLoss || outcome == .lost && !guards.stand(.lossesAreUnspent)
        if isSpent { jobs[job].spent += 1 }
        if isCancelled {
            end(job, as: .cancelled)
            return true
        }
        if jobs[job].spent > jobs[job].genuineFailures { broke(.attemptMisspent) }
        let isTransient = failure == .transient
        if failure == .permanent || isTransient && jobs[job].spent >= Times.maxAttempts {
            if reason?.isGenuine != true { broke(.promiseFailed) }
            end(job, as: .failed)
        } else if isTransient || isLoss && jobs[job].lost > Times.lossesWithoutDelay {
            jobs[job].state = .delayed
            // The longest delay that the ledger may draw.
            let earlier = isTransient ? jobs[job].spent - 1 : jobs[job].lost - Times.lossesWithoutDelay - 1
            jobs[job].readyAt = t + min(Times.retryBase << min(20, earlier), Times.retryCap)
        } else {
            jobs[job].state = .waiting
        }
        return true
    }

    // MARK: - Housekeeping

    private mutating func wakeDelayed(at t: Milliseconds) {
        for job in jobs.indices where jobs[job].state == .delayed && jobs[job].readyAt <= t {
            jobs[job].state = .waiting
        }
    }

    /// One tick. Any number may happen.
    mutating func keepHouse(server: Int, at t: Milliseconds, under guards: Guards) {
        if let last = tickAt {
            if t < last + 900 && t > last - 60_000 { return }
            if guards.stand(.quietAfterOutage) && (server != tickServer || t < last || t - last > Times.lease / 3) {
                quietUntil = t + Times.lease
            }
        } else if guards.stand(.quietAtFirstTick) {
            quietUntil = t + Times.lease
        }
        (tickAt, tickServer) = (t, server)
        wakeDelayed(at: t)
        if quietUntil > t { return }
        // Without the guard, a worker that misses one beat counts as lost.
        let end = guards.stand(.reapNeedsExpiry) ? t : t + Times.lease - 3 * Times.beat / 2
        for worker in workers.indices where !workers[worker].hasEnded && workers[worker].leaseUntil <= end {
            if workers[worker].leaseUntil > t { broke(.leaseCutShort) }
            // A chore that failed is tried again at the next tick.
            if !self.end(worker: worker, isLost: true, at: t, under: guards) { return }
        }
        audit(at: t, under: guards)
    }

    /// Ends jobs of ended workers, and jobs that stand still.
    private mutating func audit(at t: Milliseconds, under guards: Guards) {
        for job in jobs.indices where jobs[job].state == .running {
            if workers[jobs[job].worker].hasEnded && guards.stand(.endedWorkersAreAudited) {
                let reason = Reason(failureClass: .infrastructure, code: .workerLost, isGenuine: false)
                takeAway(job)
                if !endAttempt(job, .lost, reason, at: t, under: guards) { return }
            } else if max(jobs[job].movedAt, workers[jobs[job].worker].revivedAt) + Times.stall < t {
                let reason = Reason(failureClass: .transient, code: .stalled, isGenuine: false)
                takeAway(job)
                if !endAttempt(job, .failed, reason, at: t, under: guards) { return }
            }
        }
    }

    /// Hands out a job that has been `publishing` for too long.
    mutating func takeUnfinished(at t: Milliseconds, under guards: Guards) -> Order? {
        guard guards.stand(.anyProcessFinishes) else { return nil }
        var next: Int?
        for job in jobs.indices where jobs[job].state == .publishing && jobs[job].handedAt + Times.publishGrace < t {
            if next.map({ jobs[job].handedAt < jobs[$0].handedAt }) ?? true { next = job }
        }
        guard let next else { return nil }
        jobs[next].handedAt = t
        return jobs[next].order
    }

    /// Whether the fence in a file's name is valid.
    func stands(_ key: AttemptKey, under guards: Guards) -> Bool {
        guard key.job < jobs.count else { return false }
        let job = jobs[key.job]
        if guards.stand(.attemptNameIsUnique) && (job.epoch != key.epoch || job.lease != key.lease) { return false }
        return job.state == .running && guards.stand(.sweepAsksRunning)
            || job.state == .publishing && guards.stand(.sweepAsksPublishing)
    }
}
