import Conversion
import Ledger
import Publishing
import Storage

/// The result of preparing a job for its conversion.
enum Preparation: Sendable {
    case ready(PreparedJob)
    /// There is nothing to write.
    case existing([PlannedOutput])
    /// This worker cannot do the job; `need` is the ability that another worker must have.
    case unable(need: String)
    /// `isWriting`: at an output, not at a source.
    case failed(StorageError, root: String?, isWriting: Bool)
    /// The output's file system is full.
    case fileSystemFull(FileSystemFacts)
    /// The file system of the source or the output is not mounted.
    case fileSystemMissing(MountWatch.Lost)

    /// Opens what a job's recipe names. Blocks.
    static func of(
        _ claim: Claim,
        in roots: StorageRoots,
        _ objectRoots: ObjectRoots,
        codecs: Set<Codec>,
        _ disks: DiskKeeper,
        _ mounts: MountKeeper,
        _ calls: FileCalls
    ) -> Preparation {
        var opening = JobOpening(
            claim: claim,
            roots: roots,
            objectRoots: objectRoots,
            codecs: codecs,
            disks: disks,
            mounts: mounts
        )
        do throws(StorageError) {
            return try opening.prepare(calls)
        } catch {
            return .failed(error, root: opening.root, isWriting: opening.isWriting)
        }
    }
}

/// The steps that open a job's files. All of them block.
private struct JobOpening {
    let claim: Claim
    let roots: StorageRoots
    let objectRoots: ObjectRoots
    let codecs: Set<Codec>
    let disks: DiskKeeper
    let mounts: MountKeeper
    /// The root that the current step is about.
    private(set) var root: String?
    /// Whether the current step is about the outputs.
    private(set) var isWriting = false
    /// The roots that were found to be there.
    private var checked: Set<String> = []

    init(
        claim: Claim,
        roots: StorageRoots,
        objectRoots: ObjectRoots,
        codecs: Set<Codec>,
        disks: DiskKeeper,
        mounts: MountKeeper
    ) {
        self.claim = claim
        self.roots = roots
        self.objectRoots = objectRoots
        self.codecs = codecs
        self.disks = disks
        self.mounts = mounts
    }

    mutating func prepare(_ calls: FileCalls) throws(StorageError) -> Preparation {
        let mountChanges = mounts.watch.refresh()
        let (from, to) = try places()
        try refuseOutputsInObjectRoots(to)
        if let need = missingAbility(for: from + to) { return .unable(need: need) }
        // A file opened below an unmounted folder would be hidden as soon as the file system is mounted again.
        try checkRoots(of: from)
        if let lost = mounts.knownLost(for: claim, in: roots) { return .fileSystemMissing(lost) }
        let objects = ObjectReading()
        let files = try openSources(at: from, objects)
        isWriting = true
        if let full = try prepareDestinations(to) { return .fileSystemFull(full) }
        let work = Self.work(of: claim.recipe, files)
        var outputs = OutputSet()
        let plan = try openOutputs(at: to, from: files, madeOf: work, into: &outputs)
        // An album needs the loudness of outputs that exist as well: the gain of the others depends on it.
        let isMeasured = claim.recipe.belongsToAlbum && plan.contains(where: \.isMade)
        let hasWork = isMeasured || claim.recipe.scan != nil || plan.contains(where: \.isWritten)
        guard hasWork else { return .existing(plan) }
        // The file system may have been unmounted in the meantime.
        if let lost = mounts.lost(for: claim, in: roots) { return .fileSystemMissing(lost) }
        return .ready(
            PreparedJob(
                files,
                outputs,
                as: plan,
                sourceRoots: from.map(\.root),
                objects: objects,
                madeOf: work,
                mountChanges: mountChanges,
                files: calls
            )
        )
    }

    // MARK: - Checking

    /// The locations of the sources and the outputs.
    private func places() throws(StorageError) -> (from: [Location], to: [Location]) {
        let recipe = claim.recipe
        guard !recipe.sources.isEmpty, recipe.outputs.isEmpty == (recipe.scan != nil) else {
            throw StorageError(.invalidLocation, at: .open, "read the recipe", "it lacks a source or an output")
        }
        var from: [Location] = []
        for source in recipe.sources { from.append(try Location(source.location)) }
        var to: [Location] = []
        for output in recipe.outputs { to.append(try Location(output.location)) }
        return (from, to)
    }

    private mutating func refuseOutputsInObjectRoots(_ locations: [Location]) throws(StorageError) {
        for location in locations {
            guard let refusal = objectRoots.refusal(ofOutputAt: location) else { continue }
            (root, isWriting) = (location.root, true)
            throw refusal
        }
    }

    /// A root or a codec that the job needs and this worker lacks; `nil` if there is none.
    private func missingAbility(for locations: [Location]) -> String? {
        for location in locations where objectRoots.usable[location.root] == nil {
            // `try?`: only whether the worker has the root matters here.
            if (try? roots.root(of: location)) == nil { return AbilityWord.root(location.root) }
        }
        for output in claim.recipe.outputs {
            guard let codec = Self.codec(of: output), !codecs.contains(codec) else { continue }
            return AbilityWord.codec(codec)
        }
        return nil
    }

    private mutating func checkRoots(of locations: [Location]) throws(StorageError) {
        for location in locations where checked.insert(location.root).inserted {
            root = location.root
            // Opening an object shows whether the store answers.
            if objectRoots.usable[location.root] != nil { continue }
            try roots.root(of: location).check()
        }
    }

    /// Checks the roots of the outputs, and removes what an earlier attempt left there. Returns the first file system that
    /// counts as full.
    private mutating func prepareDestinations(_ locations: [Location]) throws(StorageError) -> FileSystemFacts? {
        for location in locations {
            root = location.root
            if checked.insert(location.root).inserted { try roots.root(of: location).check() }
            if disks.isAnythingAside {
                let facts = try roots.root(of: location).fileSystem(of: location)
                if disks.aside(facts.device) != nil { return facts }
            }
            if claim.losses > 0 { Self.removeRemains(of: claim, at: location, in: roots) }
        }
        return nil
    }

    // MARK: - Opening

    private mutating func openSources(
        at locations: [Location],
        _ objects: ObjectReading
    ) throws(StorageError) -> SourceFiles {
        var place: String?
        defer { root = place ?? root }
        let (roots, objectRoots) = (roots, objectRoots)
        return try SourceFiles.opening(locations) { location throws(StorageError) in
            place = location.root
            return try objectRoots.usable[location.root].map { root throws(StorageError) in
                try ObjectSource(location, in: root, for: objects)
            }
        } _: { location throws(StorageError) in
            try roots.root(of: location).openSource(location)
        }
    }

    /// Opens the outputs that are to be written, and returns what the job does about each of all outputs.
    private mutating func openOutputs(
        at locations: [Location],
        from files: SourceFiles,
        madeOf work: UInt64,
        into outputs: inout OutputSet
    ) throws(StorageError) -> [PlannedOutput] {
        var plan: [PlannedOutput] = []
        for (location, output) in zip(locations, claim.recipe.outputs) {
            root = location.root
            let preparation = try roots.root(of: location).prepareOutput(
                at: location,
                for: AttemptName(claim.fence),
                madeOf: work,
                onConflict: output.onConflict,
                sources: files.identities,
                permissions: files.permissions
            )
            switch consume preparation {
            case .made(let fingerprint): plan.append(.made(location, fingerprint))
            case .skipped: plan.append(.leftAlone)
            case .ready(let file):
                outputs.add(file)
                plan.append(.written(location))
            }
        }
        return plan
    }

    /// A hash of everything that determines a job's output. Job numbers can be issued again after a database failover,
    /// so an output made from another recipe, or from an earlier state of its sources, must not pass as this job's.
    private static func work(of recipe: Recipe, _ sources: SourceFiles) -> UInt64 {
        var running = RunningFingerprint()
        // A recipe that cannot be encoded as JSON gets a random number, so that no existing file matches it.
        running.add((try? recipe.json()) ?? "\(UInt64.random(in: .min ... .max))")
        for (size, time) in zip(sources.byteCounts, sources.modificationTimes) { running.add("\(size) \(time)") }
        for (_, source) in sources.remotes.sorted(by: { $0.key < $1.key }) { running.add(source.version) }
        return running.finish().sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// `nil` if the output is a waveform, or has no valid format, which the room refuses with the reasons.
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
