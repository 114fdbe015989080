import Conversion
import Ledger

/// A job that this worker has claimed, and its progress.
struct JobInHand: Sendable {
    /// The job's state in this process.
    enum Phase: Sendable, Hashable {
        /// Claimed, and waiting for a slot.
        case queued
        case converting
        /// Finished, failed, skipped or handed back, but not yet reported.
        case ending
        /// The worker has called `publish` and has no answer yet, or carries out the order. The ledger may rely on
        /// the file, so nothing here stops the job any more.
        case publishing
    }

    let claim: Claim
    let session: Session
    let claimedAt: ContinuousClock.Instant
    var phase = Phase.queued
    var slot: Int?
    var startedAt: ContinuousClock.Instant?
    /// When the slot had finished with it.
    var convertedAt: ContinuousClock.Instant?
    var frames: Int64?
    var totalFrames: Int64?
    var speed: SpeedMeter?
    /// Whether a heartbeat has reported its progress.
    var isTold = false
    /// Why the job is being stopped; `nil` if it is not.
    var stop: StopReason?
    var cancelConversion: (@Sendable () -> Void)?

    var fence: Fence { claim.fence }

    /// Whether an earlier worker was lost while it ran the job.
    var isSuspect: Bool { claim.workersLost > 0 }

    /// Whether the worker may still report the job to the ledger.
    var isOurs: Bool { stop?.isLoss != true && session.holds }
}

/// Why a job is stopped.
enum StopReason: Sendable, Hashable {
    /// The worker is being stopped: the job is handed back, and the attempt is not spent.
    case draining
    /// A user cancelled the job.
    case cancelled
    /// The ledger gave it to another worker, or took it back.
    case lost
    /// The ledger has ended the worker's lease, or has not answered for too long.
    case leaseOver

    /// Whether the right to it is gone, so that nothing may be written.
    var isLoss: Bool { self == .lost || self == .leaseOver }
}
