import Ledger
import Synchronization

/// One registration of the worker in the ledger, until its lease ends.
final class Session: Sendable {
    let worker: Int64
    let leaseLength: Duration
    private let clock: Mutex<LeaseClock>
    private let abilities: Mutex<[String]>
    private let isOverdueTold = Mutex(false)

    /// `abilities` are those that the worker registered with. `patience` is how long it goes on
    /// while the ledger does not answer.
    init(_ entry: WorkerEntry, abilities: [String], patience: Duration) {
        worker = entry.worker
        leaseLength = entry.leaseLength
        clock = Mutex(LeaseClock(entry, patience: patience))
        self.abilities = Mutex(abilities)
    }

    /// The abilities that the ledger has on record for this worker.
    var toldAbilities: [String] {
        get { abilities.withLock { $0 } }
        set { abilities.withLock { $0 = newValue } }
    }

    /// Whether the worker may work and write, by its own clock. The ledger makes the final decision for each job.
    var holds: Bool { clock.withLock { $0.holds(at: .now) } }

    /// Whether the worker goes on although no beat was answered for a whole lease.
    var isOverdue: Bool { clock.withLock { $0.isOverdue(at: .now) } }

    /// Records whether users were informed that the lease is overdue. Returns whether that changes.
    func tellOverdue(_ isOverdue: Bool) -> Bool {
        isOverdueTold.withLock { told in
            defer { told = isOverdue }
            return told != isOverdue
        }
    }

    /// When the worker gives up if the ledger does not answer.
    var end: ContinuousClock.Instant { clock.withLock { $0.end } }

    func renew(with reply: BeatReply) { clock.withLock { $0.renew(with: reply, now: .now) } }

    /// Ends the session, after the ledger reported that it is over.
    func lose() {
        let lost = BeatReply(isAlive: false, leaseLength: .zero, sentAt: .now)
        clock.withLock { $0.renew(with: lost, now: .now) }
    }
}

/// The current session, which changes after the lease was lost. The first one begins before any
/// part of the worker reads it.
final class Sessions: Sendable {
    private let state = Mutex<Session?>(nil)

    var current: Session {
        guard let session = state.withLock({ $0 }) else { preconditionFailure("a worker registers before it works") }
        return session
    }

    func begin(_ session: Session) { state.withLock { $0 = session } }
}
