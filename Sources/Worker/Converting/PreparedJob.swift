import Conversion
import Glibc
import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization

/// What a job does about one of its outputs.
enum PlannedOutput: Sendable {
    /// It writes the file.
    case written(Location)
    /// An earlier attempt published it, and the ledger has no record of that.
    case made(Location, Fingerprint)
    /// The destination exists, and the recipe says to leave it alone.
    case leftAlone

    var isWritten: Bool { if case .written = self { true } else { false } }
    var isMade: Bool { if case .made = self { true } else { false } }
}

extension [PlannedOutput] {
    /// The numbers, from 1, of the outputs that are written; empty if all are.
    var numbersOfWritten: [Int] {
        allSatisfy(\.isWritten) ? [] : enumerated().filter { $0.element.isWritten }.map { $0.offset + 1 }
    }
}

/// A job whose sources and outputs are open.
final class PreparedJob: Sendable {
    let sources: [Int32]
    let sourceBytes: Int64
    /// The first source as it was opened.
    let stamp: SourceStamp
    /// For each output of the recipe.
    let plan: [PlannedOutput]
    /// The files of the outputs that are written, open for reading and writing. Valid until they are sealed.
    let destinations: [Int32]
    /// Whether the outputs' file systems show if a room can still write to the files.
    let canBeSealed: Bool
    let sourceRoots: [String]
    /// What became of reading the sources that are objects.
    let objects: ObjectReading
    /// A hash of the recipe and the sources, for the marks on the output files.
    let work: UInt64
    /// The mount table's change counter before the files were opened.
    private let mountChanges: Int
    /// All roots in which it has files.
    let roots: Set<String>
    private let open: OpenFiles
    /// Those of the outputs when they were sealed.
    private let lengths = Mutex<[Int64]>([])
    private let files: FileCalls
    /// Whether the files are still open, with no call under way that closes them.
    private let isOpen = Atomic<Bool>(true)

    init(
        _ sourceFiles: SourceFiles,
        _ outputs: consuming sending OutputSet,
        as plan: [PlannedOutput],
        sourceRoots: [String],
        objects: ObjectReading,
        madeOf work: UInt64,
        mountChanges: Int,
        files: FileCalls
    ) {
        sources = sourceFiles.descriptors
        // A file server may tell any sizes.
        sourceBytes = sourceFiles.byteCounts.reduce(0) { sum, size in
            let (both, isTooMuch) = sum.addingReportingOverflow(size)
            return isTooMuch ? .max : both
        }
        stamp =
            (sourceFiles.remotes[0] as? ObjectSource)?.stamp
            ?? SourceStamp(bytes: sourceFiles.byteCounts[0], modified: sourceFiles.modificationTimes[0])
        (destinations, canBeSealed) = (outputs.descriptors, outputs.canBeSealed)
        self.plan = plan
        self.sourceRoots = sourceRoots
        self.objects = objects
        self.work = work
        self.mountChanges = mountChanges
        self.files = files
        let written = plan.compactMap { if case .written(let location) = $0 { location.root } else { nil } }
        roots = Set(sourceRoots + written)
        open = OpenFiles(sourceFiles, outputs)
    }

    deinit { discard() }

    /// The sources that the room reads through windows, by their places.
    var windows: [Int: RoomWindow] { open.remotes.compactMapValues { ($0 as? ObjectSource)?.window } }

    /// Where the outputs that are written will be.
    var locations: [Location] {
        plan.compactMap { if case .written(let location) = $0 { location } else { nil } }
    }

    /// Whether the sources are as they were when they were opened, by their size and time. Blocks.
    var areSourcesUnchanged: Bool {
        if let root = sourceRoots.first { FileCalls.touches(root) }
        return open.areSourcesUnchanged
    }

    /// The recipe with only the outputs that are written; if these are waveforms, also with those that they show.
    func reduced(_ recipe: Recipe) -> Recipe { recipe.reduced(to: plan.indices.filter { plan[$0].isWritten }) }

    /// Closes the sources, gives up write access to the outputs, and describes each, including whether another process
    /// can still write to it. Blocks.
    ///
    /// A room closes its descriptors before it reports the end. But a process that the worker is just starting
    /// holds, for a moment, a copy of every descriptor; the retries outlast that moment.
    private func seal() throws(StorageError) -> [OutputEvidence] {
        open.closeSources()
        var evidence: [OutputEvidence] = []
        for index in destinations.indices {
            var hasWriters = try sealOnce(index)
            for milliseconds in Self.sealingPauses where hasWriters {
                usleep(milliseconds * 1_000)
                hasWriters = try sealOnce(index)
            }
            let written = try open.outputs.withLock { outputs throws(StorageError) in try outputs?.written(index) }
            guard let written else { throw thrownAway }
            evidence.append(
                OutputEvidence(byteCount: written.byteCount, hasHoles: written.hasHoles, hasWriters: hasWriters)
            )
        }
        lengths.withLock { $0 = evidence.map(\.byteCount) }
        return evidence
    }

    /// The largest outputs that are read back in the call that seals them. Larger ones would keep the pipeline from its
    /// next job.
    private static let mostBytesReadAtOnce: Int64 = 4 << 20

    /// Seals the outputs as `seal()` does, and computes the fingerprints of small ones, whose bytes are still in the
    /// caches of the processor; `nil` for large ones, and if they cannot be read. Blocks.
    func sealAndDigest() throws(StorageError) -> (evidence: [OutputEvidence], fingerprints: [Fingerprint]?) {
        let evidence = try seal()
        let bytes = evidence.reduce(Int64(0)) { sum, file in
            let (both, isTooMuch) = sum.addingReportingOverflow(file.byteCount)
            return isTooMuch ? .max : both
        }
        guard bytes <= Self.mostBytesReadAtOnce, !evidence.contains(where: \.hasWriters) else { return (evidence, nil) }
        // `try?`: the digester tries again, and reports the error.
        return (evidence, try? fingerprints())
    }

    /// About half a second in all.
    private static let sealingPauses: [UInt32] = [1, 2, 5, 10, 20, 50, 100, 300]

    private func sealOnce(_ index: Int) throws(StorageError) -> Bool {
        try open.outputs.withLock { outputs throws(StorageError) in
            guard outputs != nil else { throw thrownAway }
            // If the file system cannot show writers, the room has ended before this.
            return outputs?.seal(index) ?? false
        }
    }

    private func changed(_ index: Int) -> StorageError {
        let detail = "the output has another length than when it was finished"
        return StorageError(.attemptConflict, at: .publish, "read back", detail, place: "\(locations[index])")
    }

    private var thrownAway: StorageError {
        let place = locations.first.map { "\($0)" }
        return StorageError(.attemptLost, at: .publish, "read back", "the output was already discarded", place: place)
    }

    /// Has the files closed, which also deletes unpublished outputs. Does not wait for it.
    func discard() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        files.leave(in: roots) { [open] in open.close() }
    }

    /// The same at once. Blocks.
    func discardNow() {
        isOpen.store(false, ordering: .relaxed)
        open.close()
    }

    /// Whether the outputs' file systems are still mounted, where `changes` is the answer of `watch.refresh()`. Blocks.
    func isMounted(_ watch: MountWatch, at changes: Int) -> Bool {
        guard changes != mountChanges else { return true }
        let descriptors = open.outputs.withLock { $0?.descriptors ?? [] }
        return descriptors.allSatisfy(watch.isMounted)
    }

    /// Length and SHA-256 of each output. Blocks.
    func fingerprints() throws(StorageError) -> [Fingerprint] {
        try open.outputs.withLock { outputs throws(StorageError) in
            var fingerprints: [Fingerprint] = []
            for index in destinations.indices {
                guard let fingerprint = try outputs?.fingerprint(index) else { throw thrownAway }
                // Another machine may write to a file on a network file system, and a file server tell anything.
                guard fingerprint.byteCount == lengths.withLock({ $0[index] }) else { throw changed(index) }
                fingerprints.append(fingerprint)
            }
            return fingerprints
        }
    }

    /// Moves the outputs of a sealed job into a group. Returns false if they were discarded.
    func add(to group: inout OutputGroup, as attempt: AttemptName, with fingerprints: [Fingerprint]) -> Bool {
        var taken = open.outputs.withLock { $0.take() }
        guard let files = taken.take() else { return false }
        isOpen.store(false, ordering: .relaxed)
        group.add(files, as: attempt, with: fingerprints, madeOf: work)
        return true
    }
}

/// The open sources and outputs of a job. All calls block, and wait for one that is under way.
final class OpenFiles: Sendable {
    private let sources: Mutex<SourceFiles?>
    let outputs: Mutex<OutputSet?>

    init(_ sources: SourceFiles, _ outputs: consuming sending OutputSet) {
        self.sources = Mutex(sources)
        self.outputs = Mutex(consume outputs)
    }

    /// Whether the sources are open, and each has the size and the time that it had when it was opened.
    var areSourcesUnchanged: Bool { sources.withLock { $0?.areUnchanged ?? false } }

    /// The sources that are no files, by their places; none once they are closed.
    var remotes: [Int: any RemoteSource] { sources.withLock { $0?.remotes ?? [:] } }

    func closeSources() { sources.withLock { $0 = nil } }

    /// Closes the files, which also deletes unpublished outputs.
    func close() {
        closeSources()
        outputs.withLock { $0 = nil }
    }
}
