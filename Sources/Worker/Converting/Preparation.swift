import Conversion
import Ledger
import Publishing
import Storage
import Synchronization

/// A job with its source and its output open.
final class PreparedJob: Sendable {
    let source: Int32
    let destination: Int32
    let location: Location
    let sourceRoot: String
    /// What the output is made of, for its mark.
    let work: UInt64
    /// What the mount table had come to before the files were opened.
    private let mountChanges: Int
    private let sourceFile: Mutex<SourceFile?>
    private let output: Mutex<OutputFile?>

    init(
        _ sourceFile: consuming sending SourceFile,
        _ output: consuming sending OutputFile,
        at location: Location,
        sourceRoot: String,
        madeOf work: UInt64,
        mountChanges: Int
    ) {
        (source, destination) = (sourceFile.descriptor, output.descriptor)
        self.location = location
        self.sourceRoot = sourceRoot
        self.work = work
        self.mountChanges = mountChanges
        self.sourceFile = Mutex(consume sourceFile)
        self.output = Mutex(consume output)
    }

    /// Closes the source: what is read is read.
    func closeSource() { sourceFile.withLock { $0 = nil } }

    /// Closes and thereby removes what was written.
    func discard() {
        closeSource()
        output.withLock { $0 = nil }
    }

    /// Whether the file system of the output is still mounted. Blocks.
    func isMounted(_ watch: MountWatch) -> Bool {
        guard watch.refresh() != mountChanges else { return true }
        guard let descriptor = output.withLock({ $0?.descriptor }) else { return true }
        return watch.isMounted(descriptor)
    }

    /// Length and SHA-256 of what was written. Blocks.
    func fingerprint() throws(StorageError) -> Fingerprint {
        try output.withLock { output throws(StorageError) in
            guard let fingerprint = try output?.fingerprint() else {
                throw StorageError(.attemptLost, at: .publish, "read back", "it was thrown away", place: "\(location)")
            }
            return fingerprint
        }
    }

    /// Puts the output into a group; false if it was thrown away.
    func add(to group: inout OutputGroup, as attempt: AttemptName, with fingerprint: Fingerprint) -> Bool {
        var taken = output.withLock { $0.take() }
        guard let file = taken.take() else { return false }
        group.add(file, as: attempt, with: fingerprint, madeOf: work)
        return true
    }
}

/// A job's output that is published already.
struct MadeOutput: Sendable {
    let location: Location
    let fingerprint: Fingerprint
}

/// How far a job came before its conversion.
enum Preparation: Sendable {
    case ready(PreparedJob)
    /// The destination exists, and is to be left alone.
    case skipped
    /// The destination is the job's own output: an earlier attempt published it, and the ledger has forgotten that.
    case made(MadeOutput)
    /// Not for this worker: the word that another one must know.
    case unable(need: String)
    case failed(StorageError, root: String?)
    /// The file system that it writes to is full.
    case withoutRoom(FileSystemFacts)
    /// The file system of its source or its output is not mounted.
    case withoutMount(MountWatch.Lost)

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
            guard let source = recipe.sources.first, let output = recipe.outputs.first else {
                throw StorageError(.invalidLocation, at: .open, "read the recipe", "it names no source or no output")
            }
            let (from, to) = (try Location(source.location), try Location(output.location))
            for location in [from, to] where (try? roots.root(of: location)) == nil {
                return .unable(need: AbilityWord.root(location.root))
            }
            if let codec = codec(of: output), !codecs.contains(codec) {
                return .unable(need: AbilityWord.codec(codec))
            }
            root = from.root
            // What is opened below a folder that was unmounted would be nowhere to be seen.
            try roots.root(of: from).check()
            if let lost = mounts.lost(for: claim, in: roots) { return .withoutMount(lost) }
            let file = try roots.root(of: from).openSource(from)
            root = to.root
            if to.root != from.root { try roots.root(of: to).check() }
            if disks.isAnythingAside {
                let facts = try roots.root(of: to).fileSystem(of: to)
                if disks.aside(facts.device) != nil { return .withoutRoom(facts) }
            }
            if claim.losses > 0 { removeRemains(of: claim, at: to, in: roots) }
            let work = Self.work(of: recipe, file)
            let policy = try roots.root(of: to).rules.policy(output.onConflict)
            let owner = try owner(of: to, policy, for: claim, madeOf: work, in: roots)
            if case .job(let fingerprint) = owner {
                return .made(MadeOutput(location: to, fingerprint: fingerprint))
            }
            let preparation = try roots.root(of: to).prepareOutput(
                at: to,
                onConflict: output.onConflict,
                source: file.identity,
                permissions: file.permissions,
                mayExist: owner == .unknown
            )
            switch consume preparation {
            case .skipped: return .skipped
            case .ready(let output):
                // It may have been unmounted since.
                if let lost = mounts.lost(for: claim, in: roots) { return .withoutMount(lost) }
                return .ready(
                    PreparedJob(file, output, at: to, sourceRoot: from.root, madeOf: work, mountChanges: mountChanges)
                )
            }
        } catch {
            return .failed(error, root: root)
        }
    }

    /// Whose file a job finds at its destination. A recipe that replaces does so whichever job made the file.
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
            // It is created with the output.
            return .unknown
        }
    }

    /// A number for what a job makes its output of. An output made of another recipe, or of a source that has changed since, is not
    /// taken for the job's: after a failover a job's number may be given out again.
    private static func work(of recipe: Recipe, _ source: borrowing SourceFile) -> UInt64 {
        var running = RunningFingerprint()
        // A recipe that cannot be written as JSON gets a number that fits no mark, so nothing is adopted by it.
        running.add((try? recipe.json()) ?? "\(UInt64.random(in: .min ... .max))")
        running.add("\(source.byteCount) \(source.modifiedAt)")
        return running.finish().sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// `nil` if it has no format, which is for the room to refuse, with its reasons.
    private static func codec(of output: Recipe.Output) -> Codec? {
        do throws(RecipeError) { return try output.codec } catch { return nil }
    }

    /// A worker that was lost may have left a finished file.
    private static func removeRemains(of claim: Claim, at place: Location, in roots: StorageRoots) {
        // What cannot be removed now is swept with its folder. A folder that is not there yet holds nothing.
        _ = try? roots.root(of: place).removeEarlier(than: AttemptName(claim.fence), of: place)
    }
}
