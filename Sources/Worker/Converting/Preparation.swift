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
    private let sourceFile: Mutex<SourceFile?>
    private let output: Mutex<OutputFile?>

    init(
        _ sourceFile: consuming sending SourceFile,
        _ output: consuming sending OutputFile,
        at location: Location,
        sourceRoot: String
    ) {
        (source, destination) = (sourceFile.descriptor, output.descriptor)
        self.location = location
        self.sourceRoot = sourceRoot
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
        group.add(file, as: attempt, with: fingerprint)
        return true
    }
}

/// How far a job came before its conversion.
enum Preparation: Sendable {
    case ready(PreparedJob)
    /// The destination exists, and is to be left alone.
    case skipped
    /// Not for this worker: the word that another one must know.
    case unable(need: String)
    case failed(StorageError, root: String?)

    /// Opens what a job's recipe names. Blocks.
    static func of(_ claim: Claim, in roots: StorageRoots, codecs: Set<Codec>) -> Preparation {
        let recipe = claim.recipe
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
            let file = try roots.root(of: from).openSource(from)
            root = to.root
            if claim.losses > 0 { removeRemains(of: claim, at: to, in: roots) }
            let preparation = try roots.root(of: to).prepareOutput(
                at: to,
                onConflict: output.onConflict,
                source: file.identity
            )
            switch consume preparation {
            case .skipped: return .skipped
            case .ready(let output): return .ready(PreparedJob(file, output, at: to, sourceRoot: from.root))
            }
        } catch {
            return .failed(error, root: root)
        }
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
