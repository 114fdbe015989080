import Conversion
import Ledger

/// A job that this worker has claimed, and how far it is.
struct JobInHand: Sendable {
    /// Where it stands in this process.
    enum Phase: Sendable, Hashable {
        /// Claimed, and waiting for a slot.
        case queued
        case converting
        /// Done in one way or another; to be reported.
        case ending
        /// `publish` has been asked for and is not answered, or the order is being carried out: the ledger may count on the
        /// file. Nothing here ends that any more.
        case publishing
    }

    let claim: Claim
    let session: Session
    let claimedAt: ContinuousClock.Instant
    var phase = Phase.queued
    var slot: Int?
    var startedAt: ContinuousClock.Instant?
    /// When the slot was done with it.
    var convertedAt: ContinuousClock.Instant?
    var frames: Int64?
    var totalFrames: Int64?
    var pace: ConversionPace?
    /// Whether a beat has told how far it is.
    var isTold = false
    /// Why it is to be stopped, once it is.
    var stop: StopReason?
    var cancelConversion: (@Sendable () -> Void)?

    var fence: Fence { claim.fence }

    /// Whether a worker was lost while it ran the job.
    var isSuspect: Bool { claim.workersLost > 0 }

    /// Whether anything may still be said of it to the ledger.
    var isOurs: Bool { stop?.isLoss != true && session.holds }
}

/// Why a job is stopped.
enum StopReason: Sendable, Hashable {
    /// The worker is being stopped: the job goes back, unspent.
    case draining
    /// A person cancelled the job.
    case cancelled
    /// The ledger gave it to another worker, or took it back.
    case lost
    /// The ledger has ended the worker, or has not answered for too long.
    case leaseOver

    /// Whether the right to it is gone, so that nothing may be written.
    var isLoss: Bool { self == .lost || self == .leaseOver }
}
