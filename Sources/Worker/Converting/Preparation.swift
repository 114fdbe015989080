import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization

/// A job whose sources and output are open.
final class PreparedJob: Sendable {
    let sources: [Int32]
    let sourceBytes: Int64
    /// Open for reading and writing. Valid until `seal`.
    let destination: Int32
    /// Whether the output's file system shows if a room can still write to the file.
    let canBeSealed: Bool
    let location: Location
    let sourceRoots: [String]
    /// A hash of the recipe and the sources, for the mark on the output file.
    let work: UInt64
    /// The mount table's change counter before the files were opened.
    private let mountChanges: Int
    private let sourceFiles: Mutex<SourceFiles?>
    private let output: Mutex<OutputFile?>

    init(
        _ sourceFiles: SourceFiles,
        _ output: consuming sending OutputFile,
        at location: Location,
        sourceRoots: [String],
        madeOf work: UInt64,
        mountChanges: Int
    ) {
        sources = sourceFiles.descriptors
        sourceBytes = sourceFiles.byteCounts.reduce(0, &+)
        (destination, canBeSealed) = (output.descriptor, output.canBeSealed)
        self.location = location
        self.sourceRoots = sourceRoots
        self.work = work
        self.mountChanges = mountChanges
        self.sourceFiles = Mutex(sourceFiles)
        self.output = Mutex(consume output)
    }

    /// Closes the sources once the conversion no longer needs them.
    func closeSources() { sourceFiles.withLock { $0 = nil } }

    /// Gives up write access to the output and describes it, including whether another process can still write to it.
    ///
    /// A room closes its descriptors before it reports the end. But a process that the worker is just starting
    /// holds, for a moment, a copy of every descriptor; the retries outlast that moment.
    func seal() async throws(StorageError) -> OutputEvidence {
        var hasWriters = try sealOnce()
        for milliseconds in Self.sealingPauses where hasWriters {
            // A cancelled worker does not wait.
            try? await Task.sleep(for: .milliseconds(milliseconds))
            hasWriters = try sealOnce()
        }
        return try output.withLock { output throws(StorageError) in
            guard let written = try output?.written() else { throw thrownAway }
            return OutputEvidence(
                byteCount: written.byteCount,
                hasHoles: written.hasHoles,
                hasWriters: hasWriters
            )
        }
    }

    /// About half a second in all.
    private static let sealingPauses = [1, 2, 5, 10, 20, 50, 100, 300]

    private func sealOnce() throws(StorageError) -> Bool {
        try output.withLock { output throws(StorageError) in
            guard output != nil else { throw thrownAway }
            // If the file system cannot show writers, the room has ended before this.
            return output?.seal() ?? false
        }
    }

    private var thrownAway: StorageError {
        StorageError(.attemptLost, at: .publish, "read back", "the output was already discarded", place: "\(location)")
    }

    /// Closes the files, which also deletes the unpublished output.
    func discard() {
        closeSources()
        output.withLock { $0 = nil }
    }

    /// Whether the output's file system is still mounted. Blocks.
    func isMounted(_ watch: MountWatch) -> Bool {
        guard watch.refresh() != mountChanges else { return true }
        guard let descriptor = output.withLock({ $0?.descriptor }) else { return true }
        return watch.isMounted(descriptor)
    }

    /// Length and SHA-256 of the output. Blocks.
    func fingerprint() throws(StorageError) -> Fingerprint {
        try output.withLock { output throws(StorageError) in
            guard let fingerprint = try output?.fingerprint() else { throw thrownAway }
            return fingerprint
        }
    }

    /// Moves the output into a group. Returns false if it was discarded.
    func add(to group: inout OutputGroup, as attempt: AttemptName, with fingerprint: Fingerprint) -> Bool {
        var taken = output.withLock { $0.take() }
        guard let file = taken.take() else { return false }
        group.add(file, as: attempt, with: fingerprint, madeOf: work)
        return true
    }
}

/// A job's output that an earlier attempt has published.
struct MadeOutput: Sendable {
    let location: Location
    let fingerprint: Fingerprint
}

/// The result of preparing a job for its conversion.
enum Preparation: Sendable {
    case ready(PreparedJob)
    /// The destination exists, and the recipe says to leave it alone.
    case skipped
    /// The destination is the job's own output: an earlier attempt published it, and the ledger has no record of that.
    case made(MadeOutput)
    /// This worker cannot do the job; `need` is the ability that another worker must have.
    case unable(need: String)
    case failed(StorageError, root: String?)
    /// The output's file system is full.
    case fileSystemFull(FileSystemFacts)
    /// The file system of the source or the output is not mounted.
    case fileSystemMissing(MountWatch.Lost)

    /// Opens what a job's recipe names. Blocks.
    static func of(
        _ claim: Claim,
        in roots: StorageRoots,
        codecs: Set<Codec>,
        _ disks: DiskKeeper,
        _ mounts: MountKeeper
    ) -> Preparation {
        let recipe = claim.recipe
        let mountChanges = mounts.watch.refresh()
        var root: String?
        do throws(StorageError) {
            guard !recipe.sources.isEmpty, let output = recipe.outputs.first else {
                throw StorageError(.invalidLocation, at: .open, "read the recipe", "it lacks a source or an output")
            }
            var from: [Location] = []
            for source in recipe.sources { from.append(try Location(source.location)) }
            let to = try Location(output.location)
            // `try?`: only whether the worker has the root matters here.
            for location in from + [to] where (try? roots.root(of: location)) == nil {
                return .unable(need: AbilityWord.root(location.root))
            }
            if let codec = codec(of: output), !codecs.contains(codec) {
                return .unable(need: AbilityWord.codec(codec))
            }
            // A file opened below an unmounted folder would be hidden as soon as the file system is mounted again.
            var checked: Set<String> = []
            for location in from where checked.insert(location.root).inserted {
                root = location.root
                try roots.root(of: location).check()
            }
            if let lost = mounts.lost(for: claim, in: roots) { return .fileSystemMissing(lost) }
            let files = try SourceFiles.opening(from) { location throws(StorageError) in
                root = location.root
                return try roots.root(of: location).openSource(location)
            }
            root = to.root
            if checked.insert(to.root).inserted { try roots.root(of: to).check() }
            if disks.isAnythingAside {
                let facts = try roots.root(of: to).fileSystem(of: to)
                if disks.aside(facts.device) != nil { return .fileSystemFull(facts) }
            }
            if claim.losses > 0 { removeRemains(of: claim, at: to, in: roots) }
            let work = Self.work(of: recipe, files)
            let policy = try roots.root(of: to).rules.policy(output.onConflict)
            let owner = try owner(of: to, policy, for: claim, madeOf: work, in: roots)
            if case .job(let fingerprint) = owner {
                return .made(MadeOutput(location: to, fingerprint: fingerprint))
            }
            let preparation = try roots.root(of: to).prepareOutput(
                at: to,
                onConflict: output.onConflict,
                sources: files.identities,
                permissions: files.permissions,
                mayExist: owner == .unknown
            )
            switch consume preparation {
            case .skipped: return .skipped
            case .ready(let output):
                // The file system may have been unmounted in the meantime.
                if let lost = mounts.lost(for: claim, in: roots) { return .fileSystemMissing(lost) }
                return .ready(
                    PreparedJob(
                        files,
                        output,
                        at: to,
                        sourceRoots: from.map(\.root),
                        madeOf: work,
                        mountChanges: mountChanges
                    )
                )
            }
        } catch {
            return .failed(error, root: root)
        }
    }

    /// Who made the file at a job's destination. With the policy `replace` that does not matter.
    private static func owner(
        of place: Location,
        _ policy: Recipe.ConflictPolicy,
        for claim: Claim,
        madeOf work: UInt64,
        in roots: StorageRoots
    ) throws(StorageError) -> OutputOwner {
        guard policy != .replace else { return .unknown }
        do throws(StorageError) {
            return try roots.root(of: place).owner(of: place, for: AttemptName(claim.fence), madeOf: work)
        } catch  where error.code == .folderNotFound {
            // The folder is created together with the output.
            return .unknown
        }
    }

    /// A hash of everything that determines a job's output. Job numbers can be issued again after a database failover,
    /// so an output made from another recipe, or from an earlier state of its sources, must not pass as this job's.
    private static func work(of recipe: Recipe, _ sources: SourceFiles) -> UInt64 {
        var running = RunningFingerprint()
        // A recipe that cannot be encoded as JSON gets a random number, so that no existing file matches it.
        running.add((try? recipe.json()) ?? "\(UInt64.random(in: .min ... .max))")
        for (size, time) in zip(sources.byteCounts, sources.modificationTimes) { running.add("\(size) \(time)") }
        return running.finish().sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// `nil` if the output has no valid format; the room refuses it and reports the reasons.
    private static func codec(of output: Recipe.Output) -> Codec? {
        do throws(RecipeError) { return try output.codec } catch { return nil }
    }

    /// Removes a finished file that a lost worker may have left.
    private static func removeRemains(of claim: Claim, at place: Location, in roots: StorageRoots) {
        // The sweeper removes later what cannot be removed now. If the folder does not exist
        // yet, there is nothing to remove.
        _ = try? roots.root(of: place).removeEarlier(than: AttemptName(claim.fence), of: place)
    }
}
