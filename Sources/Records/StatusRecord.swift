import Console
package import FoundationEssentials
package import Ledger

/// The JSON form of a summary of the ledger.
package struct StatusRecord: Codable {
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
    package let unsentDeliveries: UnsentRecord?
    package let notes: [String]

    package struct UnsentRecord: Codable {
        let count: Int
        let since: Date
    }

    package struct FullRecord: Codable {
        let mountPoint: String
        let freeBytes: Int64
        let since: Date
        let worker: String
        let host: String
    }

    package struct MissingRecord: Codable {
        let mountPoint: String
        let name: String
        let since: Date
        let worker: String
        let host: String
    }

    /// Reads a summary that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        context = try record.decodeIfPresent(String.self, forKey: .context)
        ledger = try record.decode(String.self, forKey: .ledger)
        server = try record.decodeIfPresent(String.self, forKey: .server)
        jobs = try record.counts(.jobs)
        oldestWaiting = try record.decodeIfPresent(Date.self, forKey: .oldestWaiting)
        (workers, quietWorkers) = (try record.count(.workers), try record.count(.quietWorkers))
        (slots, busySlots) = (try record.count(.slots), try record.count(.busySlots))
        workerStates = try record.decode([String: Int].self, forKey: .workerStates)
        completedLately = try record.count(.completedLately)
        audioSecondsLately = try record.seconds(.audioSecondsLately)
        paceSeconds = try record.secondsIfPresent(.paceSeconds)
        keptHouseAt = try record.decodeIfPresent(Date.self, forKey: .keptHouseAt)
        quietUntil = try record.decodeIfPresent(Date.self, forKey: .quietUntil)
        time = try record.decode(Date.self, forKey: .time)
        fullFileSystems = try record.decode([FullRecord].self, forKey: .fullFileSystems)
        missingFileSystems = try record.decode([MissingRecord].self, forKey: .missingFileSystems)
        unsentDeliveries = try record.decodeIfPresent(UnsentRecord.self, forKey: .unsentDeliveries)
        notes = try record.decode([String].self, forKey: .notes)
    }

    /// What the ledger said about itself.
    package var status: LedgerStatus {
        var status = LedgerStatus(
            jobs: jobs,
            workers: workers,
            quietWorkers: quietWorkers,
            slots: slots,
            completedLately: completedLately,
            audioLately: .milliseconds(Int64((audioSecondsLately * 1_000).rounded())),
            time: time
        )
        (status.oldestWaiting, status.paceSpan) = (oldestWaiting, paceSeconds.map { .seconds($0) })
        (status.keptHouseAt, status.quietUntil) = (keptHouseAt, quietUntil)
        return status
    }

    /// Deliveries to webhooks that no coordinator sends.
    package var unsent: UnsentDeliveries? {
        unsentDeliveries.map { UnsentDeliveries(count: $0.count, since: $0.since) }
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
        unsentDeliveries = facts.unsent.map { UnsentRecord(count: $0.count, since: $0.since) }
        notes = facts.notes.map(\.text)
    }
}
