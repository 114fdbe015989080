import Conversion
import Ledger

/// One registration of the worker in the ledger, until its lease ends.
package struct Session: Sendable {
    package let worker: Int64
    package let leaseLength: Duration
    var clock: LeaseClock
    /// The abilities that the ledger has on record for this worker.
    var toldAbilities: [String]
    /// Whether users were informed that the lease is overdue.
    var isOverdueTold = false

    /// `abilities` are those that the worker registered with. `patience` is how long it goes on
    /// while the ledger does not answer.
    init(_ entry: WorkerEntry, abilities: [String], patience: Duration) {
        worker = entry.worker
        leaseLength = entry.leaseLength
        clock = LeaseClock(entry, patience: patience)
        toldAbilities = abilities
    }

    /// When the worker gives up if the ledger does not answer.
    package var end: WorkerState.Moment { clock.end }
}
