import Conversion
import Ledger
import Storage

/// Tells what is wrong with a job from what is wrong with the place that it ran in.
enum Judge {
    struct Verdict: Sendable {
        var failure: Failure
        /// The root whose every job would meet it.
        var root: String?
        /// The file system that is full.
        var full: FileSystemFacts?
        /// The file system that is no longer mounted.
        var lost: MountWatch.Lost?
    }

    /// What an error of files comes to after a look at the roots concerned. Blocks.
    ///
    /// Of a lost mount every source seems to be missing or broken, and a file system that is full before a job writes to it says
    /// nothing about the job: such failures spend no attempt. Where all of a root lies on one file system, that is the root's.
    static func look(
        at failure: Failure,
        of job: Claim,
        roots: [String],
        in keeper: RootKeeper,
        _ disks: DiskKeeper,
        _ mounts: MountKeeper
    ) -> Verdict {
        switch failure.code {
        case StorageError.Code.unavailable.rawValue:
            // It may be back already; what was said of it stands until it has been looked for.
            return Verdict(failure: failure, root: roots.first { keeper.problem(of: $0) != nil } ?? roots.first)
        case StorageError.Code.sourceIO.rawValue, StorageError.Code.destinationIO.rawValue,
            StorageError.Code.sourceNotFound.rawValue, StorageError.Code.folderNotFound.rawValue:
            for root in roots {
                if let problem = keeper.problem(of: root) { return Verdict(failure: problem.failure, root: root) }
            }
            return Verdict(failure: failure, lost: mounts.lost(for: job, in: keeper.roots))
        case StorageError.Code.diskFull.rawValue:
            guard let (root, facts) = destination(of: job, in: keeper), disks.lacksRoom(facts, for: job.fence.job)
            else {
                break
            }
            var failure = failure
            failure.kind = .infrastructure
            let isWholeRoot = facts.isFull && root.isWholly(on: facts.device)
            return Verdict(failure: failure, root: isWholeRoot ? root.name : nil, full: facts)
        default: break
        }
        return Verdict(failure: failure)
    }

    /// The file system that a job writes to; `nil` if it cannot be told. What a job that failed wrote is gone by now.
    static func destination(of job: Claim, in keeper: RootKeeper) -> (root: StorageRoot, facts: FileSystemFacts)? {
        guard let output = job.recipe.outputs.first else { return nil }
        do throws(StorageError) {
            let location = try Location(output.location)
            let root = try keeper.roots.root(of: location)
            return (root, try root.fileSystem(of: location))
        } catch {
            // What is wrong with the place is said by those who write there.
            return nil
        }
    }
}

extension FileSystemFacts {
    /// `the file system at /mnt/archive has 12 KB left of 2 TB`
    var words: String {
        isOutOfNames
            ? "the file system at \(mountPoint) can hold no more files"
            : "the file system at \(mountPoint) has \(freeBytes) of \(byteCount) bytes left"
    }
}
