import Conversion
import Ledger
import Storage

/// Finds out whether a failure is due to the job or to the storage that it ran on.
struct RootDiagnosis: Sendable {
    var failure: Failure
    /// The root that would fail every job, if there is one.
    var root: String?
    /// The file system that is full.
    var full: FileSystemFacts?
    /// The file system that was full when the job wrote to it, and has space again.
    var wasFull: FileSystemFacts?
    /// The file system that is no longer mounted.
    var lost: MountWatch.Lost?
    /// The root to whose own folder this worker may not write.
    var denied: (root: StorageRoot, because: StorageError)?

    /// Diagnoses a file error by checking the roots concerned. Blocks.
    ///
    /// On a lost mount every source appears missing or broken, below a folder that this worker may not enter every file
    /// is denied, and a file system that is full before a job writes to it says nothing about the job. Such failures
    /// spend no attempt. If a whole root lies on the one full file system, the root itself is full. A job that may not
    /// write where it should (`isWriting`) is at fault only if this worker may write to the root's own folder.
    static func of(
        _ failure: Failure,
        of job: Claim,
        roots: [String],
        isWriting: Bool,
        in keeper: RootKeeper,
        _ disks: DiskKeeper,
        _ mounts: MountKeeper
    ) -> RootDiagnosis {
        switch failure.known {
        case .storageUnavailable:
            // The root may be back already. It still counts as missing until the next check.
            return RootDiagnosis(failure: failure, root: roots.first { keeper.problem(of: $0) != nil } ?? roots.first)
        case .sourceIO, .destinationIO, .sourceNotFound, .folderNotFound, .permissionDenied:
            for root in roots {
                if let problem = keeper.problem(of: root) { return RootDiagnosis(failure: problem.failure, root: root) }
            }
            if let lost = mounts.lost(for: job, in: keeper.roots) { return RootDiagnosis(failure: failure, lost: lost) }
            guard isWriting, failure.known == .permissionDenied else { return RootDiagnosis(failure: failure) }
            let denied = denial(of: job, roots, in: keeper)
            return RootDiagnosis(failure: denied == nil ? failure.with(.folderDenied) : failure, denied: denied)
        case .readOnly where isWriting:
            return RootDiagnosis(failure: failure, denied: denial(of: job, roots, in: keeper))
        case .diskFull:
            for (root, facts) in destinations(of: job, in: keeper) {
                switch disks.shortage(facts, of: job.fence.job) {
                case .ofFileSystem:
                    let isWholeRoot = facts.isFull && root.isWholly(on: facts.device)
                    return RootDiagnosis(
                        failure: failure.with(.fileSystemFull),
                        root: isWholeRoot ? root.name : nil,
                        full: facts
                    )
                case .over: return RootDiagnosis(failure: failure, wasFull: facts)
                case .ofJob: break
                }
            }
            return RootDiagnosis(failure: failure)
        default:
            return RootDiagnosis(failure: failure)
        }
    }

    /// The first of `roots` that the job writes to and in whose own folder this worker may create no file.
    private static func denial(of job: Claim, _ roots: [String], in keeper: RootKeeper) -> (StorageRoot, StorageError)?
    {
        let destinations = destinations(of: job, in: keeper).map(\.root).filter { roots.contains($0.name) }
        for root in destinations {
            if let denial = root.denialOfWriting { return (root, denial) }
        }
        return nil
    }

    /// The roots and file systems that a job writes to, each once and as far as they can be determined. A failed job's
    /// outputs are already deleted.
    static func destinations(of job: Claim, in keeper: RootKeeper) -> [(root: StorageRoot, facts: FileSystemFacts)] {
        var devices: Set<UInt64> = []
        return job.recipe.outputs.compactMap { output in
            do throws(StorageError) {
                let location = try Location(output.location)
                let root = try keeper.roots.root(of: location)
                let facts = try root.fileSystem(of: location)
                return devices.insert(facts.device).inserted ? (root, facts) : nil
            } catch {
                // Opening the output reports what is wrong with the location.
                return nil
            }
        }
    }
}

extension FileSystemFacts {
    /// `the file system at /mnt/archive has 12288 of 2000000000000 bytes left`
    var words: String {
        isOutOfNames
            ? "the file system at \(mountPoint) has no free inodes"
            : "the file system at \(mountPoint) has \(freeBytes) of \(byteCount) bytes left"
    }
}
