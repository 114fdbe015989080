import Conversion
import Ledger
import PumpRoom
import Storage
import System
import WorkerRules

/// What is wrong with the worker's roots and file systems, and what that means for its jobs.
final class StorageHealth: Sendable {
    let roots: RootKeeper
    let disks: DiskKeeper
    let mounts: MountKeeper
    private let configuration: WorkerConfiguration
    private let dispatcher: Dispatcher
    private let beater: Beater
    private let tell: @Sendable (WorkerEvent) -> Void

    init(
        _ configuration: WorkerConfiguration,
        roots: RootKeeper,
        _ dispatcher: Dispatcher,
        _ beater: Beater,
        tell: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.configuration = configuration
        self.roots = roots
        self.dispatcher = dispatcher
        self.beater = beater
        self.tell = tell
        disks = DiskKeeper(configuration)
        mounts = MountKeeper(configuration)
    }

    // MARK: - Diagnosing

    /// Diagnoses a failed job by checking the roots concerned, and returns how to report it. Sets aside a root that
    /// is lost or full, or a full file system below one.
    func diagnose(
        _ report: AttemptFailure,
        _ job: Claim,
        _ concerned: [String],
        on files: BlockingQueue
    ) async -> JobResult {
        let (roots, disks, mounts) = (roots, disks, mounts)
        let diagnosis = await files.run {
            RootDiagnosis.of(report.failure, of: job, roots: concerned, in: roots, disks, mounts)
        }
        if let root = diagnosis.root {
            setAside(root, because: diagnosis.failure, full: diagnosis.full)
        } else if let full = diagnosis.full {
            if disks.setAside(full) { tell(.fileSystemFull(full)) }
            beater.hurry()
            return .handedBack(putOff(full))
        } else if let lost = diagnosis.lost {
            return .handedBack(putOff(lost))
        }
        var report = report
        report.failure = diagnosis.failure
        return .failed(report)
    }

    /// Hands a job back until the file system that it writes to has space.
    func putOff(_ full: FileSystemFacts) -> HandBack {
        let since = disks.aside(full.device)?.since ?? .now
        return HandBack(.fileSystemFull, hold: configuration.hold(since: since), message: full.words)
    }

    /// Hands a job back until the file system of its files is mounted again.
    func putOff(_ lost: MountWatch.Lost) -> HandBack {
        if mounts.setAside(lost) {
            tell(.mountLost(lost))
            beater.hurry()
        }
        let since = mounts.since(lost) ?? .now
        return HandBack(.fileSystemMissing, hold: configuration.hold(since: since), message: lost.words)
    }

    // MARK: - Roots

    /// Sets a root aside. Reports each loss, because each return is reported, too, and the roots may come back at
    /// different times.
    func setAside(_ root: String, because failure: Failure, full: FileSystemFacts? = nil) {
        // Further failures of the same root are not news.
        guard let wait = roots.setAside(root, because: failure, full: full) else { return }
        tell(.rootLost(root, because: "\(failure.code): \(failure.message)", wait: wait))
        dispatcher.report(roots.changed)
    }

    /// Checks a root that is set aside. If it is back, the worker uses it again.
    func look(for root: String) async {
        if case .back(let note) = await roots.look(for: root) { tell(.rootBack(root, note: note)) }
        // The reason may have changed.
        dispatcher.report(roots.changed)
    }

    /// Sets aside all roots that are not accessible.
    func checkRoots() async {
        while let lost = await roots.findLost() { setAside(lost.name, because: lost.error.failure) }
    }

    // MARK: - For the worker's status in the ledger

    func describe(_ status: inout WorkerStatus) {
        let (full, missing) = (fullFileSystems, missingFileSystems)
        status.fullFileSystems = full.isEmpty ? nil : full
        status.missingFileSystems = missing.isEmpty ? nil : missing
    }

    /// File systems that are no longer mounted.
    private var missingFileSystems: [MissingFileSystem] {
        mounts.all.map { aside in
            MissingFileSystem(
                mountPoint: aside.lost.mountPoint,
                name: aside.lost.name,
                seconds: ((.now - aside.since) / .seconds(1)).rounded()
            )
        }
    }

    /// Full file systems.
    private var fullFileSystems: [FullFileSystem] {
        let absent = roots.absences.values.compactMap { absence in absence.full.map { ($0, absence.since) } }
        return (disks.all.map { ($0.facts, $0.since) } + absent).map { facts, since in
            FullFileSystem(
                mountPoint: facts.mountPoint,
                freeBytes: Int64(clamping: facts.freeBytes),
                seconds: ((.now - since) / .seconds(1)).rounded()
            )
        }
    }
}
