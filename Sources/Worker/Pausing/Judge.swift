import Conversion
import Storage

/// Tells what is wrong with a job from what is wrong with the place that it ran in.
enum Judge {
    struct Verdict: Sendable {
        var failure: Failure
        /// The root whose every job would meet it.
        var root: String?
    }

    /// What an error of files comes to after a look at the roots concerned. Blocks.
    ///
    /// Of a lost mount every source seems to be missing or broken, and a disk that is full before a job writes to it says
    /// nothing about the job: such failures spend no attempt.
    static func look(at failure: Failure, roots: [String], in keeper: RootKeeper) -> Verdict {
        switch failure.code {
        case StorageError.Code.unavailable.rawValue:
            // It may be back already; what was said of it stands until it has been looked for.
            return Verdict(failure: failure, root: roots.first { keeper.problem(of: $0) != nil } ?? roots.first)
        case StorageError.Code.sourceIO.rawValue, StorageError.Code.destinationIO.rawValue,
            StorageError.Code.sourceNotFound.rawValue, StorageError.Code.folderNotFound.rawValue:
            for root in roots {
                if let problem = keeper.problem(of: root) { return Verdict(failure: problem.failure, root: root) }
            }
        case StorageError.Code.diskFull.rawValue:
            guard let root = roots.last, keeper.isFull(root) else { break }
            var failure = failure
            failure.kind = .infrastructure
            return Verdict(failure: failure, root: root)
        default: break
        }
        return Verdict(failure: failure)
    }
}
