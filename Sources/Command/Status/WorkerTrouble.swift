import FoundationEssentials
import Ledger

/// What a living worker says that keeps it from some of its work, or all.
struct WorkerTrouble: Sendable {
    enum Kind: Sendable {
        /// It puts off jobs that write to a file system.
        case full(FullFileSystem)
        /// It puts off jobs whose files lie on a file system that is not mounted.
        case missing(MissingFileSystem)
        /// It leaves the jobs of some roots to others.
        case roots([String], because: String)
        /// It claims nothing.
        case paused(because: String)
    }

    let kind: Kind
    let worker: String
    let host: String
    /// By the ledger's clock.
    let toldAt: Date
    let now: Date

    /// `the file system at /mnt/a of worker pump-1 (host-1) is full for 12m (0 B free): ...`
    var note: String {
        switch kind {
        case .full:
            "\(place) is full: \(fullness). Jobs that write there wait, and go on by themselves when there is room"
        case .missing(let missing):
            "nothing is mounted at \(missing.mountPoint) on the machine of worker \(worker) (\(host)) \(absence). Jobs whose "
                + "files lie there wait, and go on by themselves when it is mounted again"
        case .roots(let roots, let reason):
            "worker \(worker) leaves jobs of \(roots.joined(separator: ", ")) to others until that is back: \(reason)"
        case .paused(let reason): "worker \(worker) has paused itself: \(reason)"
        }
    }

    /// `the file system at /mnt/a of worker pump-1 (host-1)`
    var place: String {
        guard case .full(let full) = kind else { return "worker \(worker)" }
        return "the file system at \(full.mountPoint) of worker \(worker) (\(host))"
    }

    /// `0 B free, since 12m`
    var fullness: String {
        guard case .full(let full) = kind else { return "" }
        let since = now.timeIntervalSince(toldAt) + full.seconds
        return "\(Figures.bytes(full.freeBytes)) free, since \(TimeWords.span(seconds: since))"
    }

    /// `since 12m, where ext4 of /dev/sdb1 was`
    var absence: String {
        guard case .missing(let missing) = kind else { return "" }
        let since = now.timeIntervalSince(toldAt) + missing.seconds
        return "since \(TimeWords.span(seconds: since)), where \(missing.name) was"
    }

    /// Whether jobs without an able worker wait for this to end, rather than for another worker.
    func explains(_ line: UnableLine) -> Bool {
        switch kind {
        case .full, .missing: false
        case .roots(let roots, _):
            !line.missing.isEmpty && line.missing.allSatisfy { roots.map { "root:\($0)" }.contains($0) }
        // It does not say for which roots, having none.
        case .paused: !line.missing.isEmpty && line.missing.allSatisfy { $0.hasPrefix("root:") }
        }
    }
}

extension [WorkerSummary] {
    /// What those alive say. A file system that several of one machine see is told of once.
    func troubles(at now: Date) -> [WorkerTrouble] {
        var troubles: [WorkerTrouble] = []
        var told: Set<String> = []
        for worker in self where worker.endedAt == nil && worker.leaseUntil > now {
            func add(_ kind: WorkerTrouble.Kind) {
                troubles.append(
                    WorkerTrouble(kind: kind, worker: worker.name, host: worker.host, toldAt: worker.beatAt, now: now)
                )
            }
            for full in worker.status.fullFileSystems ?? []
            where told.insert("\(worker.host) \(full.mountPoint)").inserted { add(.full(full)) }
            for missing in worker.status.missingFileSystems ?? []
            where told.insert("\(worker.host) \(missing.mountPoint)").inserted { add(.missing(missing)) }
            guard let reason = worker.status.pausedBecause else { continue }
            if let roots = worker.status.pausedRoots {
                add(.roots(roots, because: reason))
            } else {
                add(.paused(because: reason))
            }
        }
        return troubles
    }
}
