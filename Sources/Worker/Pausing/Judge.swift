import Conversion
import Storage

/// Tells what is wrong with a job from what is wrong with the place that it ran in.
enum Judge {
    struct Verdict: Sendable {
        var failure: Failure
        /// Whether every job would meet it.
        var isOfAll = false
    }

    /// What an error of files comes to after a look at the roots concerned. Blocks.
    ///
    /// Of a lost mount every source seems to be missing or broken, and a disk that is full before a job writes to it says
    /// nothing about the job: such failures spend no attempt.
    static func look(at failure: Failure, roots: [String], in keeper: RootKeeper) -> Verdict {
        switch failure.code {
        case StorageError.Code.unavailable.rawValue:
            for root in roots { _ = keeper.problem(of: root) }
            return Verdict(failure: failure, isOfAll: true)
        case StorageError.Code.sourceIO.rawValue, StorageError.Code.destinationIO.rawValue,
            StorageError.Code.sourceNotFound.rawValue, StorageError.Code.folderNotFound.rawValue:
            guard let problem = roots.lazy.compactMap({ keeper.problem(of: $0) }).first else { break }
            return Verdict(failure: problem.failure, isOfAll: true)
        case StorageError.Code.diskFull.rawValue:
            guard let root = roots.last, keeper.isFull(root) else { break }
            var failure = failure
            failure.kind = .infrastructure
            return Verdict(failure: failure, isOfAll: true)
        default: break
        }
        return Verdict(failure: failure)
    }
}
