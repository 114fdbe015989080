package import FoundationEssentials
package import Ledger

/// The JSON form of a worker.
package struct WorkerRecord: Encodable {
    package let id: Int64
    package let name: String
    package let host: String
    package let build: String
    package let libraries: String?
    package let slots: Int
    package let busySlots: Int?
    package let jobs: Int
    package let abilities: [String]
    package let wish: WorkerWish
    package let pausedBecause: String?
    package let pausedRoots: [String]?
    package let sandbox: String?
    package let startedAt: Date
    package let beatAt: Date
    package let leaseUntil: Date
    package let endedAt: Date?
    package let ending: WorkerSummary.Ending?
    package let state: WorkerState

    package init(_ worker: WorkerSummary, _ now: Date) {
        state = worker.state(at: now)
        (id, name, host, build) = (worker.worker, worker.name, worker.host, worker.build)
        libraries = worker.libraries
        (slots, busySlots, jobs) = (worker.slots, worker.status.busySlots, worker.holds)
        (abilities, wish, pausedBecause) = (worker.abilities, worker.wish, worker.status.pausedBecause)
        (pausedRoots, sandbox) = (worker.status.pausedRoots, worker.status.sandbox)
        (startedAt, beatAt, leaseUntil) = (worker.startedAt, worker.beatAt, worker.leaseUntil)
        (endedAt, ending) = (worker.endedAt, worker.ending)
    }
}
