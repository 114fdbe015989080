import Ledger
import Synchronization

/// A worker's stay in the ledger, from one registration to the end of its lease.
final class Session: Sendable {
    let worker: Int64
    let leaseLength: Duration
    private let clock: Mutex<LeaseClock>
    private let abilities: Mutex<[String]>
    private let isOverdueTold = Mutex(false)

    /// `abilities` are those that the worker registered with; for `patience` it goes on without an answer from the ledger.
    init(_ entry: WorkerEntry, abilities: [String], patience: Duration) {
        worker = entry.worker
        leaseLength = entry.leaseLength
        clock = Mutex(LeaseClock(entry, patience: patience))
        self.abilities = Mutex(abilities)
    }

    /// What the ledger was last told that this worker can do.
    var toldAbilities: [String] {
        get { abilities.withLock { $0 } }
        set { abilities.withLock { $0 = newValue } }
    }

    /// Whether it may write and work, by its own count. The ledger has the last word on each job.
    var holds: Bool { clock.withLock { $0.holds(at: .now) } }

    /// Whether it goes on although no beat was answered for a whole lease.
    var isOverdue: Bool { clock.withLock { $0.isOverdue(at: .now) } }

    /// Sets whether people have been told that it is overdue. Returns whether that is news.
    func tellOverdue(_ isOverdue: Bool) -> Bool {
        isOverdueTold.withLock { told in
            defer { told = isOverdue }
            return told != isOverdue
        }
    }

    /// When it gives up if nothing is heard.
    var end: ContinuousClock.Instant { clock.withLock { $0.end } }

    func renew(with reply: BeatReply) { clock.withLock { $0.renew(with: reply, now: .now) } }

    /// The ledger says that it is over.
    func lose() {
        let lost = BeatReply(isAlive: false, leaseLength: .zero, sentAt: .now)
        clock.withLock { $0.renew(with: lost, now: .now) }
    }
}

/// The session that stands, which changes when a lease was lost. There is one before the first caller asks.
final class Sessions: Sendable {
    private let state = Mutex<Session?>(nil)

    var current: Session {
        guard let session = state.withLock({ $0 }) else { preconditionFailure("a worker registers before it works") }
        return session
    }

    func begin(_ session: Session) { state.withLock { $0 = session } }
}
