import Console
package import FoundationEssentials
package import Ledger

/// The JSON form of a summary of the ledger.
package struct StatusRecord: Encodable {
    package let context: String?
    package let ledger: String
    package let server: String?
    package let jobs: JobCounts
    package let oldestWaiting: Date?
    package let workers: Int
    package let quietWorkers: Int
    package let slots: Int
    package let busySlots: Int
    /// The number of workers in each state, under the names that `sluice workers` shows.
    package let workerStates: [String: Int]
    package let completedLately: Int
    package let audioSecondsLately: Double
    package let paceSeconds: Double?
    package let keptHouseAt: Date?
    package let quietUntil: Date?
    package let time: Date
    package let fullFileSystems: [FullRecord]
    package let missingFileSystems: [MissingRecord]
    package let notes: [String]

    package struct FullRecord: Encodable {
        let mountPoint: String
        let freeBytes: Int64
        let since: Date
        let worker: String
        let host: String
    }

    package struct MissingRecord: Encodable {
        let mountPoint: String
        let name: String
        let since: Date
        let worker: String
        let host: String
    }

    package init(_ facts: StatusFacts) {
        let status = facts.status
        (context, ledger, server) = (facts.context, facts.place, facts.server)
        (jobs, oldestWaiting) = (status.jobs, status.oldestWaiting)
        (workers, quietWorkers) = (facts.workers.alive, facts.workers.quiet)
        (slots, busySlots, workerStates) = (facts.workers.slots, facts.workers.busySlots, facts.workers.byName)
        (completedLately, audioSecondsLately) = (status.completedLately, status.audioLately.seconds)
        paceSeconds = status.paceSpan?.seconds
        (keptHouseAt, quietUntil, time) = (status.keptHouseAt, status.quietUntil, status.time)
        fullFileSystems = facts.troubles.compactMap { trouble in
            guard case .full(let full) = trouble.kind else { return nil }
            return FullRecord(
                mountPoint: full.mountPoint,
                freeBytes: full.freeBytes,
                since: trouble.toldAt.addingTimeInterval(-full.seconds),
                worker: trouble.worker,
                host: trouble.host
            )
        }
        missingFileSystems = facts.troubles.compactMap { trouble in
            guard case .missing(let missing) = trouble.kind else { return nil }
            return MissingRecord(
                mountPoint: missing.mountPoint,
                name: missing.name,
                since: trouble.toldAt.addingTimeInterval(-missing.seconds),
                worker: trouble.worker,
                host: trouble.host
            )
        }
        notes = facts.notes.map(\.text)
    }
}
