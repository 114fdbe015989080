package import FoundationEssentials
package import Ledger

/// The JSON form of a worker.
package struct WorkerRecord: Codable {
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
    /// Of conversions that have run long enough to measure.
    package let speeds: [JobSpeed]?
    package let fullFileSystems: [FullFileSystem]?
    package let missingFileSystems: [MissingFileSystem]?
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
        func some<Item>(_ items: [Item]?) -> [Item]? { items?.isEmpty == true ? nil : items }
        speeds = some(worker.status.paces)
        fullFileSystems = some(worker.status.fullFileSystems)
        missingFileSystems = some(worker.status.missingFileSystems)
        (startedAt, beatAt, leaseUntil) = (worker.startedAt, worker.beatAt, worker.leaseUntil)
        (endedAt, ending) = (worker.endedAt, worker.ending)
    }

    /// Reads a worker that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        id = try record.id(.id)
        name = try record.decode(String.self, forKey: .name)
        host = try record.decode(String.self, forKey: .host)
        build = try record.decode(String.self, forKey: .build)
        libraries = try record.decodeIfPresent(String.self, forKey: .libraries)
        slots = try record.small(.slots)
        busySlots = try record.smallIfPresent(.busySlots)
        jobs = try record.small(.jobs)
        abilities = try record.decode([String].self, forKey: .abilities)
        wish = try record.decode(WorkerWish.self, forKey: .wish)
        pausedBecause = try record.decodeIfPresent(String.self, forKey: .pausedBecause)
        pausedRoots = try record.decodeIfPresent([String].self, forKey: .pausedRoots)
        sandbox = try record.decodeIfPresent(String.self, forKey: .sandbox)
        speeds = try record.decodeIfPresent([JobSpeed].self, forKey: .speeds)
        for speed in speeds ?? [] {
            try record.bound(speed.speed)
            try record.bound(speed.remaining ?? 0)
        }
        fullFileSystems = try record.decodeIfPresent([FullFileSystem].self, forKey: .fullFileSystems)
        missingFileSystems = try record.decodeIfPresent([MissingFileSystem].self, forKey: .missingFileSystems)
        for seconds in (fullFileSystems ?? []).map(\.seconds) + (missingFileSystems ?? []).map(\.seconds) {
            try record.bound(seconds)
        }
        for bytes in (fullFileSystems ?? []).map(\.freeBytes) { try record.bound(Double(bytes)) }
        startedAt = try record.decode(Date.self, forKey: .startedAt)
        beatAt = try record.decode(Date.self, forKey: .beatAt)
        leaseUntil = try record.decode(Date.self, forKey: .leaseUntil)
        endedAt = try record.decodeIfPresent(Date.self, forKey: .endedAt)
        ending = try record.decodeIfPresent(WorkerSummary.Ending.self, forKey: .ending)
        state = try record.decode(WorkerState.self, forKey: .state)
    }

    /// What it was made of.
    package var summary: WorkerSummary {
        var worker = WorkerSummary(
            worker: id,
            name: name,
            host: host,
            build: build,
            slots: slots,
            abilities: abilities,
            wish: wish,
            status: WorkerStatus(
                busySlots: busySlots,
                pausedBecause: pausedBecause,
                pausedRoots: pausedRoots,
                sandbox: sandbox,
                paces: speeds,
                fullFileSystems: fullFileSystems,
                missingFileSystems: missingFileSystems
            ),
            startedAt: startedAt,
            beatAt: beatAt,
            leaseUntil: leaseUntil,
            holds: jobs
        )
        (worker.libraries, worker.endedAt, worker.ending) = (libraries, endedAt, ending)
        return worker
    }
}
