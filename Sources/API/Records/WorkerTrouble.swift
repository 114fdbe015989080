import Conversion
package import FoundationEssentials
package import Ledger

/// What keeps a living worker from some or all of its work, as it reports it.
package struct WorkerTrouble: Sendable {
    package enum Kind: Sendable {
        /// The worker defers jobs that write to a full file system.
        case full(FullFileSystem)
        /// The worker defers jobs whose files lie on a file system that is not mounted.
        case missing(MissingFileSystem)
        /// The worker defers jobs whose outputs its user may not write to this root.
        case denied(UnwritableRoot)
        /// The worker leaves the jobs of some roots to others.
        case roots([String], because: String)
        /// The worker claims nothing.
        case paused(because: String)
    }

    package let kind: Kind
    package let worker: String
    package let host: String
    /// When the worker reported it, by the ledger's clock.
    package let toldAt: Date
    package let now: Date

    /// `the file system at /mnt/a of worker pump-1 (host-1) is full for 12m (0 B free): ...`
    package var note: String {
        switch kind {
        case .full:
            "\(place) is full: \(fullness). Jobs that write to it wait, and continue automatically when there is space"
        case .missing(let missing):
            "nothing is mounted at \(missing.mountPoint) on the machine of worker \(worker) (\(host)) \(absence). Jobs with "
                + "files on it wait, and continue automatically when it is mounted again"
        case .denied(let root):
            "worker \(worker) (\(host)) may not write to root \(root.name) at \(root.path) \(denial). Jobs whose "
                + "outputs it may not write wait, and continue automatically when that worker's user may write there"
        case .roots(let roots, let reason):
            "worker \(worker) has disabled \(Plural.form("root", for: roots.count)) \(roots.joined(separator: ", ")) "
                + "until this is resolved: \(reason)"
        case .paused(let reason): "worker \(worker) is paused: \(reason)"
        }
    }

    /// `the file system at /mnt/a of worker pump-1 (host-1)`
    package var place: String {
        guard case .full(let full) = kind else { return "worker \(worker)" }
        return "the file system at \(full.mountPoint) of worker \(worker) (\(host))"
    }

    /// `0 B free, since 12m`
    package var fullness: String {
        guard case .full(let full) = kind else { return "" }
        let since = now.timeIntervalSince(toldAt) + full.seconds
        return "\(Figures.bytes(full.freeBytes)) free, since \(TimeWords.span(seconds: since))"
    }

    /// `since 12m, where ext4 of /dev/sdb1 was`
    package var absence: String {
        guard case .missing(let missing) = kind else { return "" }
        let since = now.timeIntervalSince(toldAt) + missing.seconds
        return "since \(TimeWords.span(seconds: since)), where \(missing.name) was"
    }

    /// `since 12m: permission_denied: permission denied`
    package var denial: String {
        guard case .denied(let root) = kind else { return "" }
        let since = now.timeIntervalSince(toldAt) + root.seconds
        return "since \(TimeWords.span(seconds: since)): \(root.reason)"
    }

    /// Whether the jobs of this line wait for this trouble to end, rather than for another worker.
    package func explains(_ line: UnableLane) -> Bool {
        switch kind {
        case .full, .missing, .denied: false
        case .roots(let roots, _):
            !line.missing.isEmpty && line.missing.allSatisfy { roots.map { "root:\($0)" }.contains($0) }
        // A paused worker lists no roots, because it has none in use.
        case .paused: !line.missing.isEmpty && line.missing.allSatisfy { $0.hasPrefix("root:") }
        }
    }
}

extension [WorkerSummary] {
    /// The troubles of living workers. A file system that several workers of one machine report is listed once.
    package func troubles(at now: Date) -> [WorkerTrouble] {
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
            for root in worker.status.unwritableRoots ?? []
            where told.insert("\(worker.host) \(root.name) \(root.path)").inserted { add(.denied(root)) }
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
