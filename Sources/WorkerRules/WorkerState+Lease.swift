package import Conversion
package import Ledger

extension WorkerState {
    /// Whether the worker may work and write, by its own clock. The ledger makes the final decision for each job.
    package func holds(at now: Moment) -> Bool { session?.clock.holds(at: now) ?? false }

    /// Whether the worker may still report the job to the ledger.
    func isOurs(_ job: HeldJob, at now: Moment) -> Bool {
        job.stop?.isLoss != true && job.worker == session?.worker && holds(at: now)
    }

    /// Whether the worker still holds any of the jobs, so that a report to the ledger makes sense.
    package func isWorthReporting(_ fences: [Fence], at now: Moment) -> Bool {
        fences.contains { fence in jobs[fence].map { isOurs($0, at: now) } ?? false }
    }

    mutating func begin(_ entry: WorkerEntry, _ abilities: [String], at now: Moment) {
        let isFirst = worker == nil
        (worker, leaseLength) = (entry.worker, entry.leaseLength)
        session = Session(entry, abilities: abilities, patience: settings.outageLimit)
        comparisonDue = now + dice.about(entry.leaseLength)
        (isDry, isInDoubt, wish) = (false, false, .run)
        guard !isFirst else { return }
        actions += [.report(.registeredAgain(worker: entry.worker)), .beat]
    }

    mutating func giveUpIfOver(at now: Moment) {
        if let session, !session.clock.holds(at: now) { loseLease(at: now) }
    }

    /// Stops all jobs, and begins anew. Files that the ledger may rely on stay.
    mutating func loseLease(at now: Moment) {
        guard let over = session else { return }
        let count = jobs.count
        session = nil
        drop(.leaseOver) { $0.worker == over.worker }
        actions.append(.report(.leaseLost(worker: over.worker, stopped: count)))
        // A worker that is being stopped needs no new lease: it no longer holds any jobs.
        if stopping == nil { actions.append(.register(abilities: abilities)) }
    }

    // MARK: - Heartbeats

    mutating func adopt(_ reply: BeatReply, of worker: Int64, for reported: [RunningJob], at now: Moment) {
        guard worker == session?.worker else { return }
        session?.clock.renew(with: reply, now: now)
        guard holds(at: now) else { return loseLease(at: now) }
        if session?.isOverdueTold == true {
            session?.isOverdueTold = false
            actions.append(.report(.leaseRevived(worker: worker, jobs: jobs.count)))
        }
        wish = reply.wish
        let lost = BeatReply.attempts(of: reply.lost, among: reported)
        if !lost.isEmpty { drop(.lost) { $0.worker == worker && lost.contains($0.fence) } }
        let cancelled = BeatReply.attempts(of: reply.cancelled, among: reported)
        if !cancelled.isEmpty {
            for job in stop(.cancelled, { $0.worker == worker && cancelled.contains($0.fence) }) {
                ready.add(.failed(job.cancelledReport), of: job.fence)
            }
        }
        switch reply.wish {
        case .run:
            guard !reply.pausedQueues.isEmpty else { return }
            let paused = Set(reply.pausedQueues)
            handBackQueued(HandBack(.handedBack)) { paused.contains($0.claim.queue) }
        case .quiet: handBackQueued(HandBack(.handedBack))
        case .drain: stop(by: nil)
        }
    }

    /// No answer: the worker goes on as long as its lease clock allows, because the ledger may not have ended the
    /// lease.
    mutating func missBeat(of worker: Int64, at now: Moment) {
        guard let session, session.worker == worker, session.clock.isOverdue(at: now), !session.isOverdueTold else {
            return
        }
        self.session?.isOverdueTold = true
        actions.append(.report(.leaseOverdue(worker: worker, jobs: jobs.count, keptFor: session.clock.left(at: now))))
    }

    /// The content of a heartbeat. Marks the progress as reported. `nil` without a lease.
    package mutating func beat(at now: Moment) -> Beat? {
        guard let session, holds(at: now) else { return nil }
        var beat = Beat(worker: session.worker, leaseLength: session.leaseLength)
        for job in inOrder where job.worker == session.worker && job.phase != .publishing {
            if job.frames != nil { jobs[job.fence]?.isTold = true }
            beat.jobs.append(
                RunningJob(
                    job.fence,
                    frames: job.frames,
                    totalFrames: job.totalFrames,
                    slot: job.slotInUse
                )
            )
            if job.phase == .converting, let speed = job.speed?.rounded(for: job.fence.job) {
                beat.paces.append(speed)
            }
        }
        beat.busySlots = busy.count
        beat.pausedBecause = health.pausedBecause ?? reasonForAbsence
        beat.pausedRoots = health.pausedBecause == nil && !absentRoots.isEmpty ? absentRoots.keys.sorted() : nil
        return beat
    }

    /// Whether a conversion that began at least `age` ago has made progress that no heartbeat has reported.
    package func hasChanged(after age: Duration, at now: Moment) -> Bool {
        running.contains { fence, start in
            guard now - start >= age, let job = jobs[fence], job.worker == session?.worker else { return false }
            return job.frames != nil && !job.isTold
        }
    }

    /// What the worker reports with a heartbeat.
    package struct Beat: Sendable {
        package let worker: Int64
        package let leaseLength: Duration
        package var jobs: [RunningJob] = []
        package var busySlots = 0
        /// Why the worker itself stopped claiming all jobs, or the jobs of some roots.
        package var pausedBecause: String?
        package var pausedRoots: [String]?
        package var paces: [JobSpeed] = []
    }
}
