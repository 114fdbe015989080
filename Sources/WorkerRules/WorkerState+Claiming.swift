import Conversion
import Ledger

extension WorkerState {
    // MARK: - Questions

    mutating func askQuestion(at now: Moment) {
        guard !isAsking, let session, let comparisonDue else { return }
        if isInDoubt || now >= comparisonDue {
            heldBefore = Set(jobs.keys)
            ask(.compare(worker: session.worker))
        } else if session.toldAbilities != abilities {
            ask(.reportAbilities(abilities, worker: session.worker))
        } else {
            askForJobs(session, at: now)
        }
    }

    private mutating func ask(_ question: Question) {
        isAsking = true
        actions.append(.ask(question))
    }

    /// Claims as many jobs as the slots can use. After a pause, the first claims are for one job at a time.
    private mutating func askForJobs(_ session: Session, at now: Moment) {
        guard stopping == nil, wish == .run, !isDry else { return }
        var wanted = wanted(at: now)
        guard wanted > 0 else { return }
        switch health.state {
        case .well: break
        case .paused: return health.isDue(at: now) ? ask(.checkRoots) : ()
        case .probing:
            guard jobs.isEmpty else { return }
            wanted = 1
        }
        // Set before the claim, so that a signal during the claim is not lost.
        isDry = true
        ask(.claim(wanted: wanted, worker: session.worker, inHand: Array(jobs.keys)))
    }

    /// How many jobs to claim now.
    private func wanted(at now: Moment) -> Int {
        guard unpublished < settings.unpublishedLimit else { return 0 }
        // Held-up suspects do not keep other jobs from idle slots. `shareSuspects` keeps them few; a worker that ends
        // when it is idle stops claiming instead.
        let heldUp = queue.heldUp
        guard heldUp <= settings.slots else { return 0 }
        return planner.wanted(
            queued: queue.count - heldUp,
            busySlots: busy.count,
            running: running.values.map { now - $0 }
        )
    }

    // MARK: - Answers

    mutating func hearClaim(_ claims: [Claim], _ worker: Int64, isEmpty: Bool, at now: Moment) {
        isAsking = false
        if !isEmpty { isDry = false }
        guard !claims.isEmpty else { return endIfIdle(worker) }
        // A job that the worker already has must not run twice.
        for claim in claims where jobs[claim.fence] == nil {
            let job = HeldJob(claim, worker: worker, at: now)
            jobs[claim.fence] = job
            queue.add(job)
        }
        shareSuspects()
        // The lease or the stop order may have changed during the claim.
        if worker != session?.worker {
            drop(.leaseOver) { $0.worker == worker }
        } else if stopping != nil {
            handBackQueued(HandBack(.draining))
        }
    }

    /// How long the ledger keeps a suspect that a worker handed back because it has enough of them.
    private static let turnOfSuspects: Duration = .seconds(10)

    /// Hands back suspects that would wait here for many others. Other workers can take them, and this one takes other
    /// jobs, because the ledger keeps them for a while.
    ///
    /// A worker that ends when it is idle keeps them all: while the ledger keeps its last jobs, it would find none.
    private mutating func shareSuspects() {
        guard !settings.endsWhenIdle else { return }
        let surplus = Set(queue.heldUp(beyond: settings.slots))
        guard !surplus.isEmpty else { return }
        let hold = dice.about(Self.turnOfSuspects)
        let reason = HandBack(
            .handedBack,
            hold: hold,
            message: "it ran when a worker was lost; a worker runs such jobs one at a time, and others are before it"
        )
        handBackQueued(reason) { surplus.contains($0.fence) }
    }

    /// Releases jobs that the ledger counts as held by this worker and that it does not have: the answer to
    /// their claim was lost for good.
    mutating func compare(_ held: [Fence], _ worker: Int64, at now: Moment) {
        isAsking = false
        guard let session, session.worker == worker else { return }
        isInDoubt = false
        comparisonDue = now + dice.about(session.leaseLength)
        let strays = held.filter { jobs[$0] == nil && !heldBefore.contains($0) }
        if !strays.isEmpty { ask(.releaseStrays(strays)) }
    }

    mutating func hearAbilities(_ abilities: [String], _ worker: Int64) {
        isAsking = false
        guard session?.worker == worker else { return }
        session?.toldAbilities = abilities
        // With the new abilities, jobs that were passed over may now suit this worker.
        isDry = false
    }

    // MARK: - Roots

    /// What a worker with these settings can do without the `absent` roots, in the ledger's ability words.
    static func abilities(_ settings: WorkerSettings, absent: Set<String>) -> [String] {
        settings.roots.filter { !absent.contains($0) }.sorted().map(AbilityWord.root)
            + settings.codecs.filter { $0 != .copy }.map(AbilityWord.codec).sorted()
            + settings.formats.words.map(AbilityWord.format).sorted()
            + [settings.libav].compactMap(\.self).map(AbilityWord.libav)
    }

    /// Why the first absent root was set aside; `nil` if there is none.
    var reasonForAbsence: String? { absentRoots.min { $0.key < $1.key }?.value }

    private var areAllRootsAway: Bool { !absentRoots.isEmpty && absentRoots.count == settings.roots.count }

    /// A root was set aside, so that the ledger gives its jobs to other workers, or is back. Without any root the
    /// worker pauses. A `silent` root also stops the jobs under way that need it: they would wait in the kernel.
    mutating func changeRoots(_ absent: [String: String], _ silent: Set<String>, _ change: Int, at now: Moment) {
        guard change > rootsChange else { return }
        let (before, wereAllAway) = (absentRoots, areAllRootsAway)
        (absentRoots, rootsChange) = (absent, change)
        abilities = Self.abilities(settings, absent: Set(absent.keys))
        for root in absent.keys.sorted() where before[root] == nil {
            handBackQueued(.without(root, because: absent[root])) { $0.claim.recipe.concerns(root: root) }
        }
        for root in silent.sorted() where !silentRoots.contains(root) {
            for job in stop(.rootSilent(root), { $0.claim.recipe.concerns(root: root) }) {
                ready.add(.handedBack(.without(root, because: absent[root])), of: job.fence)
            }
        }
        silentRoots = silent
        if areAllRootsAway, !wereAllAway, let reason = reasonForAbsence {
            announce(health.fail(because: reason, at: now))
        }
        // If no other root was usable, the next job has to show that the worker can work.
        if wereAllAway, !areAllRootsAway { health.probe() }
        actions.append(.beat)
    }

    /// At the end of a pause: goes on with one job at a time, or pauses again if there is still no root.
    mutating func hearRootsChecked(at now: Moment) {
        isAsking = false
        guard health.isDue(at: now) else { return }
        if areAllRootsAway, let reason = reasonForAbsence {
            announce(health.stayPaused(because: reason, at: now))
        } else {
            health.probe()
        }
    }

    // MARK: - Health

    /// Records the end of an attempt. A failure counts against this worker if it is an infrastructure failure
    /// that no root set aside explains.
    mutating func noteHealth(of job: HeldJob, _ failure: Failure?, at now: Moment) {
        var reason: String?
        if let failure, failure.kind == .infrastructure, failure.known != .cancelled {
            let isExplained = absentRoots.keys.contains { job.claim.recipe.concerns(root: $0) }
            guard health.pausedBecause != nil || !isExplained else { return }
            reason = "\(failure.code): \(failure.message)"
        }
        announce(health.note(job: job.fence.job, failure: reason, at: now))
    }

    private mutating func announce(_ change: HealthWatch.Change?) {
        switch change {
        case .paused(let reason, let wait):
            // Other workers may be able to do these jobs.
            handBackQueued(HandBack(.handedBack))
            actions += [.report(.paused(because: reason, wait: wait)), .beat]
        case .resumed: actions += [.report(.resumed), .beat]
        case nil: break
        }
    }
}
