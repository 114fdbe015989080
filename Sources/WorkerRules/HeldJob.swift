package import Conversion
package import Ledger

/// A job that the worker has claimed, and how far it has come.
package struct HeldJob: Sendable {
    package enum Phase: Sendable, Hashable {
        /// Claimed, and waiting for a slot.
        case queued
        case converting
        /// Finished, failed, skipped or handed back, but not yet reported.
        case ending
        /// The worker has called `publish` and has no answer yet, or carries out the order. The ledger may rely on
        /// the file, so nothing here stops the job any more.
        case publishing
    }

    package let claim: Claim
    /// The worker's number in the ledger when it claimed the job.
    package let worker: Int64
    package let claimedAt: WorkerState.Moment
    package internal(set) var phase = Phase.queued
    package internal(set) var place: Pipeline?
    package internal(set) var startedAt: WorkerState.Moment?
    /// When the slot had finished with it.
    package internal(set) var convertedAt: WorkerState.Moment?
    /// Whether a room has begun it.
    var hasBegun = false
    /// Why the job is being stopped; `nil` if it is not.
    package internal(set) var stop: StopReason?
    var frames: Int64?
    var totalFrames: Int64?
    var speed: SpeedMeter?
    /// Whether a heartbeat has reported its progress.
    var isTold = false

    init(_ claim: Claim, worker: Int64, at now: WorkerState.Moment) {
        self.claim = claim
        self.worker = worker
        claimedAt = now
    }

    package var fence: Fence { claim.fence }

    /// The report of a job that was cancelled.
    var cancelledReport: AttemptFailure {
        AttemptFailure(fence, .cancelled, facts: AttemptFacts(slot: place.map { Int16(clamping: $0.slot) }))
    }

    /// The slot in whose room the job is; `nil` if it only waits for a room, or has left it. If the worker is lost now,
    /// the ledger suspects the jobs with a slot, and no others.
    ///
    /// A job that an earlier attempt lost has a slot from its preparation on: see `SlotPipeline.tellBeginning`.
    var slotInUse: Int16? {
        guard phase == .converting, hasBegun || claim.losses > 0 else { return nil }
        return place.map { Int16(clamping: $0.slot) }
    }

    /// Whether an earlier worker was lost while it ran the job.
    var isSuspect: Bool { claim.workersLost > 0 }
}

/// One of the places of a worker where jobs are prepared and converted.
package struct Pipeline: Sendable, Hashable {
    package let slot: Int
    /// While one pipeline of a slot converts, the slot's others prepare.
    package let number: Int

    package init(slot: Int, number: Int) {
        self.slot = slot
        self.number = number
    }
}

/// Why a job is stopped.
package enum StopReason: Sendable, Hashable {
    /// The worker is being stopped: the job is handed back, and the attempt is not spent.
    case draining
    /// A user cancelled the job.
    case cancelled
    /// A root of the job does not answer: the job is handed back to workers that have the root.
    case rootSilent(String)
    /// It waits in a slot for a job that turned out to be long: it is handed back, before it has begun.
    case late
    /// The ledger gave it to another worker, or took it back.
    case lost
    /// The ledger has ended the worker's lease, or has not answered for too long.
    case leaseOver

    /// Whether the right to it is gone, so that nothing may be written.
    package var isLoss: Bool { self == .lost || self == .leaseOver }
}

/// The result of a job on this worker.
package enum JobResult: Sendable {
    /// Converted completely. The stages keep the output until it is published or discarded.
    case output
    /// There is no file to publish: the job was skipped, or an earlier attempt has published its output.
    case existing
    /// The conversion ended because it was to be stopped.
    case stopped
    case failed(AttemptFailure)
    case handedBack(HandBack)

    package init(_ setback: Setback) {
        self =
            switch setback {
            case .failed(let report): .failed(report)
            case .handedBack(let reason): .handedBack(reason)
            }
    }
}

/// Why there is no output of a job to publish.
package enum Setback: Sendable {
    case failed(AttemptFailure)
    case handedBack(HandBack)
}

/// Why jobs are handed back. One call to the ledger covers all jobs with the same reason.
package struct HandBack: Sendable, Hashable {
    package var reason: FailureCode
    /// The ability that another worker must have.
    package var need: String?
    /// How long the ledger is to keep the job, and why, for users.
    package var hold: Duration?
    package var message: String?

    package init(_ reason: FailureCode, need: String? = nil, hold: Duration? = nil, message: String? = nil) {
        self.reason = reason
        self.need = need
        self.hold = hold
        self.message = message
    }

    /// For jobs whose root this worker cannot use now. `reason` says why, for users.
    package static func without(_ root: String, because reason: String? = nil) -> HandBack {
        HandBack(.unable, need: AbilityWord.root(root), message: reason.map { "root \(root): \($0)" })
    }
}
