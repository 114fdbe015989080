package import Conversion
import Ledger

extension WorkerState {
    /// How long a job claimed ahead may wait for a slot.
    private var patience: Duration { max(.seconds(5), settings.workAhead * 5) }

    // MARK: - Starting

    /// Gives jobs to idle pipelines.
    ///
    /// The first pipeline of a slot takes any job. The others only work while jobs are so short that it pays to
    /// prepare the next one during a conversion, and leave enough jobs for idle slots.
    mutating func startJobs(at now: Moment) {
        for number in 0..<settings.pipelinesPerSlot {
            if number > 0, !planner.isShort { return }
            for slot in 0..<settings.slots {
                guard stopping == nil, unpublished < settings.unpublishedLimit, queue.hasNext else { return }
                if number > 0, queue.count <= settings.slots - busy.count { return }
                let pipeline = Pipeline(slot: slot, number: number)
                if idle.contains(pipeline) { start(in: pipeline, at: now) }
            }
        }
    }

    private mutating func start(in pipeline: Pipeline, at now: Moment) {
        guard let fence = queue.takeNext(), var job = jobs[fence] else { return }
        (job.phase, job.place, job.startedAt) = (.converting, pipeline, now)
        jobs[fence] = job
        idle.remove(pipeline)
        running[fence] = now
        busy[pipeline.slot, default: 0] += 1
        actions.append(.start(job, pipeline))
    }

    // MARK: - Ending

    /// Why the worker stops a job; `nil` if it does not.
    package func stopReason(of fence: Fence) -> StopReason? { jobs[fence]?.stop }

    mutating func end(_ fence: Fence, _ result: JobResult, at now: Moment) {
        guard let job = free(fence, counts: result.isOutput || isOfScan(fence, result), at: now) else { return }
        guard isOurs(job, at: now) else {
            if result.isOutput { actions.append(.discard([fence])) }
            return close(job, Closing(outcome: .lost))
        }
        switch result {
        case .output: actions.append(.digest(fence))
        case .stopped where job.stop == .cancelled: ready.add(.failed(job.cancelledReport), of: fence)
        case .stopped where job.stop == .late: ready.add(.handedBack(HandBack(.handedBack)), of: fence)
        case .stopped:
            if case .rootSilent(let root) = job.stop {
                ready.add(.handedBack(.without(root, because: absentRoots[root])), of: fence)
            } else {
                ready.add(.handedBack(HandBack(.draining)), of: fence)
            }
        case .existing, .failed, .handedBack: ready.add(result, of: fence)
        }
    }

    /// Whether a job has scanned its source, at least in part. Such a job takes as long as a conversion, and has no output.
    private func isOfScan(_ fence: Fence, _ result: JobResult) -> Bool {
        guard jobs[fence]?.claim.recipe.scan != nil else { return false }
        return switch result {
        case .existing: true
        // Without frames, the source could not be opened.
        case .failed(let report): report.facts.framesIn != nil
        case .output, .stopped, .handedBack: false
        }
    }

    /// Frees the slot of a job. If its work `counts`, the time that it took adjusts how much the worker claims.
    private mutating func free(_ fence: Fence, counts: Bool, at now: Moment) -> HeldJob? {
        guard var job = jobs[fence], job.phase == .converting, let pipeline = job.place else { return nil }
        let slot = pipeline.slot
        if counts, let startedAt = job.startedAt {
            // Start counting when the slot's previous job left it, because this one may have waited for that.
            planner.note(now - max(startedAt, freedAt[slot] ?? startedAt))
        }
        freedAt[slot] = now
        running[fence] = nil
        queue.converted(job)
        (job.phase, job.convertedAt) = (.ending, now)
        jobs[fence] = job
        unpublished += 1
        let left = (busy[slot] ?? 1) - 1
        busy[slot] = left == 0 ? nil : left
        idle.insert(pipeline)
        return job
    }

    mutating func digested(_ fence: Fence, _ problem: Setback?, at now: Moment) {
        guard jobs[fence] != nil else { return }
        if let problem {
            actions.append(.discard([fence]))
            ready.add(JobResult(problem), of: fence)
        } else {
            ready.add(.output, of: fence)
        }
    }

    // MARK: - Stopping and handing back

    /// Stops the jobs for which `isMeant` holds, except those being published. A loss overrides any other reason.
    /// Returns the jobs that had not begun, which the caller alone must deal with.
    mutating func stop(_ reason: StopReason, _ isMeant: (HeldJob) -> Bool) -> [HeldJob] {
        var waiting: [HeldJob] = []
        for job in inOrder where job.phase != .publishing && isMeant(job) {
            if job.stop == nil || reason.isLoss { jobs[job.fence]?.stop = reason }
            if job.phase == .converting { actions.append(.cancelConversion(job.fence)) }
            if job.phase == .queued { waiting.append(job) }
        }
        unqueue(waiting)
        return waiting
    }

    /// Stops and forgets jobs that the worker has lost, and writes nothing more for them. Files that the ledger may
    /// rely on stay.
    mutating func drop(_ reason: StopReason, _ isMeant: (HeldJob) -> Bool) {
        for job in stop(reason, isMeant) { close(job, Closing(outcome: .lost)) }
    }

    /// Hands back jobs that have not begun: all, or those for which `isMeant` holds.
    mutating func handBackQueued(_ reason: HandBack, _ isMeant: (HeldJob) -> Bool = { _ in true }) {
        let meant = queue.fences.compactMap { jobs[$0] }.filter(isMeant)
        unqueue(meant)
        for job in meant { ready.add(.handedBack(reason), of: job.fence) }
    }

    private mutating func unqueue(_ waiting: [HeldJob]) {
        guard !waiting.isEmpty else { return }
        queue.remove(Set(waiting.map(\.fence)))
        for job in waiting { jobs[job.fence]?.phase = .ending }
        unpublished += waiting.count
    }

    /// The jobs in an order that is the same in each run.
    var inOrder: [HeldJob] {
        jobs.values.sorted { ($0.fence.job, $0.fence.epoch) < ($1.fence.job, $1.fence.epoch) }
    }

    /// When the first queued job will have waited too long; `nil` if none can. Suspects take turns by design, and if
    /// there is no other worker, they would come back at once.
    var lateAt: Moment? {
        guard stopping == nil else { return nil }
        return queue.firstOrdinary.flatMap { jobs[$0] }.map { $0.claimedAt + patience }
    }

    /// Hands back jobs that were claimed ahead and now wait behind jobs that turned out to be long.
    mutating func handBackLateJobs(at now: Moment) {
        guard let lateAt, lateAt <= now else { return }
        // With those that would follow within a second, so that each second costs one call at most.
        let patience = patience - .seconds(1)
        handBackQueued(HandBack(.handedBack)) { now - $0.claimedAt >= patience && !$0.isSuspect }
    }

    /// Hands back jobs that were given to a slot while jobs were short, and now wait there for a job that moves but
    /// turned out to be long. Called when the room of `fence` has reported progress.
    mutating func handBackJobs(behind fence: Fence, at now: Moment) {
        guard stopping == nil, let slot = jobs[fence]?.place?.slot, let count = busy[slot], count > 1,
            freedAt[slot].map({ now - $0 >= patience }) ?? true
        else { return }
        let late = running.filter { now - $0.value >= patience }.keys.compactMap { jobs[$0] }.filter { job in
            job.place?.slot == slot && job.frames == nil && job.stop == nil && !job.isSuspect
        }
        for job in late.sorted(by: { $0.fence.job < $1.fence.job }) {
            jobs[job.fence]?.stop = .late
            actions.append(.cancelConversion(job.fence))
        }
    }

    // MARK: - Leaving

    /// The job leaves the worker.
    mutating func close(_ job: HeldJob, _ closing: Closing) {
        guard let job = jobs.removeValue(forKey: job.fence) else { return }
        queue.forget(job.fence)
        if job.phase == .ending || job.phase == .publishing { unpublished -= 1 }
        actions.append(.close(job, closing))
        // Only a claim by a worker that holds no job shows that it is idle: the last job may have gone back.
        if settings.endsWhenIdle, jobs.isEmpty { isDry = false }
    }
}

extension JobResult {
    var isOutput: Bool { if case .output = self { true } else { false } }
}

extension HeldJob {
    mutating func progressed(_ progress: ConversionProgress, at now: WorkerState.Moment) {
        frames = progress.doneFrames
        totalFrames = progress.totalFrames
        if speed?.note(progress, at: now) == nil { speed = SpeedMeter(progress, at: now) }
    }
}

extension Failure {
    /// The failure of a job that was cancelled while it ran.
    package static let cancelled = Failure(
        .cancelled,
        at: .release,
        "the job was cancelled; its partial output was removed"
    )
}

extension Recipe {
    /// Whether a source or an output lies in the root `name`.
    func concerns(root name: String) -> Bool {
        (sources.map(\.location) + outputs.map(\.location)).contains { $0.hasPrefix("\(name):") }
    }
}
