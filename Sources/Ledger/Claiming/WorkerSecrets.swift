import FoundationEssentials
import Synchronization

/// The secrets of the workers that this process registered. With its secret a worker proves that it registered itself.
enum WorkerSecrets {
    private static let known = Mutex<[Int64: UUID]>([:])

    /// `nil` for a worker that another process registered.
    static subscript(worker: Int64) -> UUID? {
        get { known.withLock { $0[worker] } }
        set { known.withLock { $0[worker] = newValue } }
    }
}
