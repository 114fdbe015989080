import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization

/// What the parts of a worker share.
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
    /// Done, for the ledger to be told.
    let outbox = Tray<JobEnding>()
    /// Converted, for the digest to be taken.
    let converted = Tray<ConvertedJob>()
    let sweeper: Sweeper
    /// What this worker writes.
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

    /// How far the rooms are locked; `nil` until the first is ready.
    var roomLevel: RoomLevel? { level.withLock { $0 } }

    /// Says how far the rooms are locked, as soon as one can say so itself.
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

    /// A stay in the ledger that has just begun.
    func session(_ entry: WorkerEntry, abilities: [String]) -> Session {
        Session(entry, abilities: abilities, patience: configuration.outageLimit)
    }

    /// What this worker can do now.
    var abilities: [String] {
        roots.usable.names.map(AbilityWord.root)
            + codecs.filter { $0 != .copy }.map(AbilityWord.codec).sorted()
    }

    // MARK: - Wishes

    /// What the ledger wishes, as the last beat said.
    var mayClaim: Bool { !stopOrder.isGiven && wish.withLock { $0 == .run } }

    func take(_ wished: WorkerWish) { wish.withLock { $0 = wished } }

    /// Asks for a beat now, or a second after the last one that was asked for: news may come in floods, and the last of them
    /// may be a cancellation.
    func beatSoon() {
        let wait: Duration? = beatAsked.withLock { last in
            let now = ContinuousClock.now
            let due = max(now, last.map { $0 + .seconds(1) } ?? now)
            // One that is yet to come is soon enough.
            if let last, last > now { return nil }
            last = due
            return due - now
        }
        guard let wait else { return }
        guard wait > .zero else { return pulse.poke() }
        Task {
            // This task is never cancelled.
            try? await Task.sleep(for: wait)
            pulse.poke()
        }
    }

    // MARK: - Handing back

    /// Gives jobs back that have not begun.
    func handBack(_ jobs: [JobInHand], because reason: ReleaseReason) {
        outbox.put(jobs.map { JobEnding(fence: $0.fence, kind: .handedBack(reason, need: nil)) })
    }

    /// Stops and forgets jobs whose right is gone; nothing of them is written any more. Files that the ledger may count on
    /// stay. How many jobs that were.
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

    /// An attempt ended. A failure counts against this worker where it is of what the worker runs on, and is not explained by
    /// a root that was set aside.
    func note(_ job: JobInHand, failure: Failure?) {
        var reason: String?
        if let failure, failure.kind == .infrastructure, failure.code != "cancelled" {
            let isExplained = roots.absences.keys.contains { job.claim.recipe.concerns(root: $0) }
            guard pausedBecause != nil || !isExplained else { return }
            reason = "\(failure.code): \(failure.message)"
        }
        announce { $0.note(job: job.fence.job, failure: reason, at: .now) }
    }

    /// How a job ends that failed, after a look at the roots concerned. A root that is lost or full is set aside, and so is a
    /// file system below one.
    func judge(
        _ report: AttemptFailure,
        _ job: Claim,
        _ concerned: [String],
        on files: BlockingQueue
    ) async -> JobEnding.Kind {
        let (keeper, disks, mounts) = (roots, disks, mounts)
        let judged = await files.run {
            Judge.look(at: report.failure, of: job, roots: concerned, in: keeper, disks, mounts)
        }
        if let root = judged.root {
            setAside(root, because: judged.failure, full: judged.full)
        } else if let full = judged.full {
            if disks.setAside(full) { say(.fileSystemFull(full)) }
            pulse.poke()
            return putOff(full)
        } else if let lost = judged.lost {
            return putOff(lost)
        }
        var report = report
        report.failure = judged.failure
        return .failed(report)
    }

    /// Hands a job back until the file system that it writes to has room.
    func putOff(_ full: FileSystemFacts) -> JobEnding.Kind {
        let since = disks.aside(full.device)?.since ?? .now
        return .putOff(.fileSystemFull, configuration.hold(since: since), because: full.words)
    }

    /// Hands a job back until the file system on which its files lie is mounted again.
    func putOff(_ lost: MountWatch.Lost) -> JobEnding.Kind {
        if mounts.setAside(lost) {
            say(.mountLost(lost))
            pulse.poke()
        }
        let since = mounts.since(lost) ?? .now
        return .putOff(.fileSystemMissing, configuration.hold(since: since), because: lost.words)
    }

    /// What file systems are no longer mounted, for people who ask the ledger.
    var missingFileSystems: [MissingFileSystem] {
        mounts.all.map { aside in
            MissingFileSystem(
                mountPoint: aside.lost.mountPoint,
                name: aside.lost.name,
                seconds: ((.now - aside.since) / .seconds(1)).rounded()
            )
        }
    }

    /// What file systems are full, for people who ask the ledger.
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

    /// Leaves the jobs of a root to others until it is back; without any root there is nothing to do. Each loss is said, for its
    /// return will be, and others may be back before.
    private func setAside(_ root: String, because failure: Failure, full: FileSystemFacts? = nil) {
        // What else fails of it says nothing new.
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
        // The ledger is told what this worker can do.
        board.bell.ring()
    }

    /// A root is back. Where there was no other, nothing could be done without it: one job is to show whether something can.
    func welcome(_ root: String, afterNone: Bool, note: String?) {
        say(.rootBack(root, note: note))
        if afterNone { health.withLock { $0.probe() } }
        pulse.poke()
        board.bell.ring()
    }

    /// Roots that were set aside, and why the first was; `nil` if there is none.
    var absentRoots: (names: [String], reason: String)? {
        let absent = roots.absences.sorted { $0.key < $1.key }
        return absent.first.map { (absent.map(\.key), $0.value.reason) }
    }

    /// Looks whether a pause may end; `true` if jobs may be claimed, one at a time if it still has to be shown.
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
            // Others may be able to.
            handBack(board.takeQueued(), because: .handedBack)
            say(.paused(because: reason, wait: wait))
            // So that `sluice workers` shows it at once.
            pulse.poke()
        case .resumed:
            say(.resumed)
            pulse.poke()
            board.bell.ring()
        case nil: break
        }
    }

    // MARK: - Asking the ledger

    /// Asks until there is an answer, for as long as `isWorthIt`. `nil` if there was none, or an answer that no repetition
    /// changes, which has been said to people.
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

    /// Says once that the ledger is away, and once that it is back.
    func noteLedger(_ error: LedgerError?) {
        let isNews = isLedgerAway.withLock { isAway in
            defer { isAway = error != nil }
            return isAway != (error != nil)
        }
        guard isNews else { return }
        say(error.map { .ledgerAway($0.failure) } ?? .ledgerBack)
    }
}

/// How long to wait before another try: a random share of a bound that doubles.
struct Patience: Sendable {
    let first: Duration
    let longest: Duration
    private var tries = 0

    init(first: Duration, longest: Duration) { (self.first, self.longest) = (first, longest) }

    mutating func next() -> Duration {
        defer { tries += 1 }
        return min(longest, first * (1 << min(tries, 20))) * Double.random(in: 0.2...1)
    }

    /// Waits; false if the task was cancelled.
    mutating func wait() async -> Bool {
        do {
            try await Task.sleep(for: next(), clock: .continuous)
            return true
        } catch {
            return false
        }
    }
}
