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
    let writes: WriteKeeper
    let files: FileCalls
    private let configuration: WorkerConfiguration
    private let dispatcher: Dispatcher
    private let beater: Beater
    private let onEvent: @Sendable (WorkerEvent) -> Void

    init(
        _ configuration: WorkerConfiguration,
        roots: RootKeeper,
        files: FileCalls,
        _ dispatcher: Dispatcher,
        _ beater: Beater,
        onEvent: @escaping @Sendable (WorkerEvent) -> Void
    ) {
        self.configuration = configuration
        self.roots = roots
        self.files = files
        self.dispatcher = dispatcher
        self.beater = beater
        self.onEvent = onEvent
        disks = DiskKeeper(configuration)
        mounts = MountKeeper(configuration)
        writes = WriteKeeper(configuration)
    }

    // MARK: - Diagnosing

    /// Diagnoses a failed job by checking the roots concerned, and returns how to report it. Sets aside a root that
    /// is lost, silent or full, or a full file system below one. `isWriting`: the job failed at its outputs, not at its
    /// sources. `first` is done before the checks.
    func diagnose(
        _ report: AttemptFailure,
        _ job: Claim,
        _ concerned: [String],
        isWriting: Bool = true,
        first: @escaping @Sendable () -> Void = {}
    ) async -> Setback {
        let (roots, disks, mounts, touched) = (roots, disks, mounts, job.roots)
        // A room also stalls on files of a root that does not answer.
        if report.failure.known == .roomStalled { for root in touched { await listen(to: root) } }
        let diagnosis = await files.run(in: touched) {
            first()
            return RootDiagnosis.of(
                report.failure,
                of: job,
                roots: concerned,
                isWriting: isWriting,
                in: roots,
                disks,
                mounts
            )
        }
        guard let diagnosis else { return .handedBack(givenUp(touched)) }
        if let root = diagnosis.root {
            setAside(root, because: diagnosis.failure, full: diagnosis.full)
        } else if let full = diagnosis.full {
            if disks.setAside(full) { onEvent(.fileSystemFull(full)) }
            beater.hurry()
            return .handedBack(putOff(full))
        } else if let (root, reason) = diagnosis.denied {
            return .handedBack(putOff(root, because: reason))
        } else if let facts = diagnosis.wasFull {
            return .handedBack(putOff(facts))
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

    /// Hands a job back until this worker may write to the root of its output.
    private func putOff(_ root: StorageRoot, because denial: StorageError) -> HandBack {
        let (aside, isNew) = writes.setAside(root, because: denial)
        if isNew {
            onEvent(.rootDenied(root.name, because: aside.reason))
            beater.hurry()
        }
        return HandBack(.rootNotWritable, hold: configuration.hold(since: aside.since), message: aside.words)
    }

    /// Hands a job back until the file system of its files is mounted again.
    func putOff(_ lost: MountWatch.Lost) -> HandBack {
        if mounts.setAside(lost) {
            onEvent(.mountLost(lost))
            beater.hurry()
        }
        let since = mounts.since(lost) ?? .now
        return HandBack(.fileSystemMissing, hold: configuration.hold(since: since), message: lost.words)
    }

    /// Why a job is handed back whose file calls below these roots were given up: one of them is silent, or the worker
    /// is being stopped.
    func givenUp(_ roots: Set<String>) -> HandBack {
        files.silent(of: roots).map { HandBack(.unable, need: AbilityWord.root($0)) } ?? HandBack(.draining)
    }

    // MARK: - Roots

    /// Begins no file calls to the roots that have not answered since the worker's start.
    func leaveSilentRoots() {
        for (root, absence) in roots.absences {
            let wait = absence.isSilent ? Duration.zero : max(.zero, absence.due - .now)
            onEvent(.rootLost(root, because: absence.reason, wait: wait))
            if absence.isSilent { files.silence(root) }
        }
    }

    /// Tries to write to each root, and reports those that deny it, so that an operator learns of them when the worker
    /// starts and not from the first job. Such a root stays in use, because folders below it may allow writing.
    func tryWriting() {
        for name in roots.usable.names {
            guard let root = roots.usable[name], root.rules.mayWrite else { continue }
            files.leave(in: [name]) { [onEvent] in
                if let denial = root.denialOfWriting { onEvent(.trouble(denial.failure)) }
            }
        }
    }

    /// Sets a root aside if it does not answer, or holds up a call: a file server may answer some calls and not others. Takes
    /// up to the time that a root has for its answer.
    func listen(to root: String) async {
        guard files.silent(of: [root]) == nil else { return }
        let isHeldUp = files.isHeldUp(root, longerThan: configuration.callLimit)
        if !isHeldUp, await roots.answers(root) { return }
        guard let failure = roots.setAsideSilent(root, for: isHeldUp ? configuration.callLimit : nil) else { return }
        onEvent(.rootLost(root, because: "\(failure.code): \(failure.message)", wait: .zero))
        // First the worker's state, so that it knows why jobs come back.
        dispatcher.report(roots.changed)
        files.silence(root)
    }

    /// Sets a root aside. Reports each loss, because each return is reported, too, and the roots may come back at
    /// different times.
    func setAside(_ root: String, because failure: Failure, full: FileSystemFacts? = nil) {
        // Further failures of the same root are not news.
        guard let wait = roots.setAside(root, because: failure, full: full) else { return }
        onEvent(.rootLost(root, because: "\(failure.code): \(failure.message)", wait: wait))
        dispatcher.report(roots.changed)
    }

    /// Checks a root that is set aside. If it is back, the worker uses it again. Waits for a root that does not answer.
    func look(for root: String) async {
        await listen(to: root)
        let isBack = await roots.look(for: root) { [files] in
            await files.haveReturned(from: root)
        }
        if roots.absences[root]?.isSilent != true { files.resume(root) }
        if case .back(let note) = isBack { onEvent(.rootBack(root, note: note)) }
        // The reason may have changed.
        dispatcher.report(roots.changed)
    }

    /// Sets aside all roots that are not accessible.
    func checkRoots() async {
        for root in roots.usable.names {
            await listen(to: root)
            guard files.silent(of: [root]) == nil, let problem = await roots.check(root) else { continue }
            setAside(root, because: problem.failure)
        }
    }

    // MARK: - For the worker's status in the ledger

    func describe(_ status: inout WorkerStatus) {
        let (full, missing) = (fullFileSystems, missingFileSystems)
        status.fullFileSystems = full.isEmpty ? nil : full
        status.missingFileSystems = missing.isEmpty ? nil : missing
        let denied = writes.all.map { aside in
            UnwritableRoot(
                name: aside.root,
                path: aside.path,
                reason: aside.reason,
                seconds: ((.now - aside.since) / .seconds(1)).rounded()
            )
        }
        status.unwritableRoots = denied.isEmpty ? nil : denied
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
