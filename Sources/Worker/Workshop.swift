import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization

/// The state and services that the parts of a worker share.
final class Workshop: Sendable {
    let configuration: WorkerConfiguration
    let ledger: JobLedger
    let heartbeat: Heartbeat
    let roots: RootKeeper
    let disks: DiskKeeper
    let mounts: MountKeeper
    let board: JobBoard
    let sessions = Sessions()
    let pulse = PulseThread()
    let stopOrder: StopOrder
    let finisher: PublicationFinisher
    /// Results of jobs, to be reported to the ledger.
    let outbox = Channel<JobEnding>()
    /// Converted jobs whose outputs need a digest.
    let converted = Channel<ConvertedJob>()
    let sweeper: Sweeper
    /// The codecs that this worker writes.
    let codecs: Set<Codec>
    private let health: Mutex<HealthWatch>
    private let wish = Mutex(WorkerWish.run)
    private let isLedgerAway = Mutex(false)
    private let level = Mutex<RoomLevel?>(nil)
    private let beatAsked = Mutex<ContinuousClock.Instant?>(nil)
    private let tell: @Sendable (WorkerEvent) -> Void

    init(
        _ configuration: WorkerConfiguration,
        ledger: JobLedger,
        heartbeat: Heartbeat,
        roots: RootKeeper,
        _ stopOrder: StopOrder,
        tell: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.configuration = configuration
        self.ledger = ledger
        self.heartbeat = heartbeat
        self.roots = roots
        disks = DiskKeeper(configuration)
        mounts = MountKeeper(configuration)
        self.stopOrder = stopOrder
        self.tell = tell
        codecs = Set(RoomLibraries.writableCodecs).subtracting(configuration.codecsToLeave)
        board = JobBoard(configuration)
        finisher = PublicationFinisher(ledger)
        sweeper = Sweeper(age: configuration.sweepAge, interval: configuration.sweepInterval)
        health = Mutex(
            HealthWatch(firstPause: configuration.firstPause, longestPause: configuration.longestPause)
        )
    }

    func say(_ event: WorkerEvent) { tell(event) }

    /// How far the rooms are locked; `nil` until the first one is ready.
    var roomLevel: RoomLevel? { level.withLock { $0 } }

    /// Reports how far the rooms are locked, as soon as the first one is ready.
    func announceRooms(_ rooms: [RoomSlot]) async {
        guard let reached = await rooms.first?.reachedLevel() else { return }
        level.withLock { $0 = reached }
        say(.rooms(reached))
    }

    var registration: WorkerRegistration {
        WorkerRegistration(
            name: configuration.name,
            host: WorkerConfiguration.hostName,
            build: configuration.build,
            slots: Int32(clamping: configuration.slots),
            abilities: abilities
        )
    }

    /// A session for a registration that has just been made.
    func session(_ entry: WorkerEntry, abilities: [String]) -> Session {
        Session(entry, abilities: abilities, patience: configuration.outageLimit)
    }

    /// What this worker can do now, in the ledger's ability words.
    var abilities: [String] {
        roots.usable.names.map(AbilityWord.root)
            + codecs.filter { $0 != .copy }.map(AbilityWord.codec).sorted()
    }

    // MARK: - Wishes

    /// Whether the worker may claim: no stop was ordered, and the last heartbeat's reply allows it.
    var mayClaim: Bool { !stopOrder.isGiven && wish.withLock { $0 == .run } }

    func take(_ wished: WorkerWish) { wish.withLock { $0 = wished } }

    /// Requests a heartbeat now, or one second after the last one requested here. News may come in floods, and the
    /// last of them may be a cancellation.
    func beatSoon() {
        let wait: Duration? = beatAsked.withLock { last in
            let now = ContinuousClock.now
            let due = max(now, last.map { $0 + .seconds(1) } ?? now)
            // A heartbeat that is already scheduled is soon enough.
            if let last, last > now { return nil }
            last = due
            return due - now
        }
        guard let wait else { return }
        guard wait > .zero else { return pulse.poke() }
        Task {
            // Cannot throw: this task is never cancelled.
            try? await Task.sleep(for: wait)
            pulse.poke()
        }
    }

    // MARK: - Handing back

    /// Hands back jobs that have not begun.
    func handBack(_ jobs: [JobInHand], because reason: FailureCode) {
        outbox.put(jobs.map { JobEnding(fence: $0.fence, kind: .handedBack(reason, need: nil)) })
    }

    /// Stops and forgets jobs that the worker has lost, and writes nothing more for them. Files that the ledger may
    /// rely on stay. Returns the number of jobs.
    @discardableResult
    func drop(_ reason: StopReason, _ isMeant: (JobInHand) -> Bool) -> Int {
        let before = board.counts
        let waiting = board.stop(reason, isMeant)
        for job in waiting { say(.attempt(AttemptLine(job, .lost))) }
        board.remove(waiting.map(\.fence))
        return reason == .leaseOver ? before.queued + before.begun : waiting.count
    }

    // MARK: - Health

    var pausedBecause: String? { health.withLock { $0.pausedBecause } }

    var healthState: HealthWatch.State { health.withLock { $0.state } }

    /// Records the end of an attempt. A failure counts against this worker if it is an infrastructure failure
    /// that no root set aside explains.
    func note(_ job: JobInHand, failure: Failure?) {
        var reason: String?
        if let failure, failure.kind == .infrastructure, failure.known != .cancelled {
            let isExplained = roots.absences.keys.contains { job.claim.recipe.concerns(root: $0) }
            guard pausedBecause != nil || !isExplained else { return }
            reason = "\(failure.code): \(failure.message)"
        }
        announce { $0.note(job: job.fence.job, failure: reason, at: .now) }
    }

    /// Diagnoses a failed job by checking the roots concerned, and returns how to report it. Sets aside a root that
    /// is lost or full, or a full file system below one.
    func diagnose(
        _ report: AttemptFailure,
        _ job: Claim,
        _ concerned: [String],
        on files: BlockingQueue
    ) async -> JobEnding.Kind {
        let (keeper, disks, mounts) = (roots, disks, mounts)
        let diagnosis = await files.run {
            RootDiagnosis.of(report.failure, of: job, roots: concerned, in: keeper, disks, mounts)
        }
        if let root = diagnosis.root {
            setAside(root, because: diagnosis.failure, full: diagnosis.full)
        } else if let full = diagnosis.full {
            if disks.setAside(full) { say(.fileSystemFull(full)) }
            pulse.poke()
            return putOff(full)
        } else if let lost = diagnosis.lost {
            return putOff(lost)
        }
        var report = report
        report.failure = diagnosis.failure
        return .failed(report)
    }

    /// Hands a job back until the file system that it writes to has space.
    func putOff(_ full: FileSystemFacts) -> JobEnding.Kind {
        let since = disks.aside(full.device)?.since ?? .now
        return .putOff(.fileSystemFull, configuration.hold(since: since), because: full.words)
    }

    /// Hands a job back until the file system of its files is mounted again.
    func putOff(_ lost: MountWatch.Lost) -> JobEnding.Kind {
        if mounts.setAside(lost) {
            say(.mountLost(lost))
            pulse.poke()
        }
        let since = mounts.since(lost) ?? .now
        return .putOff(.fileSystemMissing, configuration.hold(since: since), because: lost.words)
    }

    /// File systems that are no longer mounted, for the worker's status in the ledger.
    var missingFileSystems: [MissingFileSystem] {
        mounts.all.map { aside in
            MissingFileSystem(
                mountPoint: aside.lost.mountPoint,
                name: aside.lost.name,
                seconds: ((.now - aside.since) / .seconds(1)).rounded()
            )
        }
    }

    /// Full file systems, for the worker's status in the ledger.
    var fullFileSystems: [FullFileSystem] {
        let absent = roots.absences.values.compactMap { absence in absence.full.map { ($0, absence.since) } }
        return (disks.all.map { ($0.facts, $0.since) } + absent).map { facts, since in
            FullFileSystem(
                mountPoint: facts.mountPoint,
                freeBytes: Int64(clamping: facts.freeBytes),
                seconds: ((.now - since) / .seconds(1)).rounded()
            )
        }
    }

    /// Sets a root aside, so that the ledger gives its jobs to other workers. Without any root the worker pauses.
    /// Reports each loss, because each return is reported, too, and the roots may come back at different times.
    private func setAside(_ root: String, because failure: Failure, full: FileSystemFacts? = nil) {
        // Further failures of the same root are not news.
        guard let wait = roots.setAside(root, because: failure, full: full) else { return }
        let need = AbilityWord.root(root)
        outbox.put(
            board.takeQueued { $0.claim.recipe.concerns(root: root) }
                .map { JobEnding(fence: $0.fence, kind: .handedBack(.unable, need: need)) }
        )
        let reason = "\(failure.code): \(failure.message)"
        say(.rootLost(root, because: reason, wait: wait))
        if roots.areAllAway { announce { $0.fail(because: reason, at: .now) } }
        pulse.poke()
        // The claimer then updates the worker's abilities in the ledger.
        board.signal.send()
    }

    /// Uses a root again that is back. If no other root was usable, the next job has to show that the worker can work.
    func welcome(_ root: String, afterNone: Bool, note: String?) {
        say(.rootBack(root, note: note))
        if afterNone { health.withLock { $0.probe() } }
        pulse.poke()
        board.signal.send()
    }

    /// The roots that are set aside, and the reason for the first; `nil` if there are none.
    var absentRoots: (names: [String], reason: String)? {
        let absent = roots.absences.sorted { $0.key < $1.key }
        return absent.first.map { (absent.map(\.key), $0.value.reason) }
    }

    /// Whether the worker may claim jobs. At the end of a pause, checks the roots first; then it may claim one job
    /// at a time until one succeeds.
    func mayWork() async -> Bool {
        guard health.withLock({ $0.isDue(at: .now) }) else {
            if case .paused = healthState { return false }
            return true
        }
        while let lost = await roots.findLost() { setAside(lost.name, because: lost.error.failure) }
        if roots.areAllAway, let reason = absentRoots?.reason {
            announce { $0.stayPaused(because: reason, at: .now) }
            return false
        }
        health.withLock { $0.probe() }
        return true
    }

    private func announce(_ change: (inout HealthWatch) -> HealthWatch.Change?) {
        switch health.withLock({ change(&$0) }) {
        case .paused(let reason, let wait):
            // Other workers may be able to do these jobs.
            handBack(board.takeQueued(), because: .handedBack)
            say(.paused(because: reason, wait: wait))
            // So that `sluice workers` shows the change at once.
            pulse.poke()
        case .resumed:
            say(.resumed)
            pulse.poke()
            board.signal.send()
        case nil: break
        }
    }

    // MARK: - Asking the ledger

    /// Repeats a question to the ledger until it answers, or until `isWorthIt` is false. `nil` if there was no
    /// answer, or on a permanent error, which has been reported.
    func ask<Answer: Sendable>(
        while isWorthIt: () -> Bool = { true },
        _ question: () async throws -> Answer
    ) async -> Answer? {
        var patience = Patience(first: .milliseconds(100), longest: .seconds(5))
        while isWorthIt(), !Task.isCancelled {
            do {
                let answer = try await question()
                noteLedger(nil)
                return answer
            } catch let error as LedgerError where error.isTransient {
                noteLedger(error)
                guard await patience.wait() else { return nil }
            } catch {
                if !Task.isCancelled { say(.trouble(Failure(error))) }
                return nil
            }
        }
        return nil
    }

    /// Reports once that the ledger is away, and once that it is back.
    func noteLedger(_ error: LedgerError?) {
        let isNews = isLedgerAway.withLock { isAway in
            defer { isAway = error != nil }
            return isAway != (error != nil)
        }
        guard isNews else { return }
        say(error.map { .ledgerAway($0.failure) } ?? .ledgerBack)
    }
}

/// A back-off with jitter: waits for a random share of a bound that doubles.
struct Patience: Sendable {
    let first: Duration
    let longest: Duration
    private var tries = 0

    init(first: Duration, longest: Duration) { (self.first, self.longest) = (first, longest) }

    mutating func next() -> Duration {
        defer { tries += 1 }
        return min(longest, first * (1 << min(tries, 20))) * Double.random(in: 0.2...1)
    }

    /// Waits. Returns false if the task was cancelled.
    mutating func wait() async -> Bool {
        do {
            try await Task.sleep(for: next(), clock: .continuous)
            return true
        } catch {
            return false
        }
    }
}
