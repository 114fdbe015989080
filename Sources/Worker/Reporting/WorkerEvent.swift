public import Conversion
import Ledger
public import PumpRoom
public import Storage
import WorkerRules

/// An event that a worker reports as it happens.
public enum WorkerEvent: Sendable, Hashable {
    case started(worker: Int64, lease: Duration)
    /// The jobs that it takes: with files in these roots, from these queues, or from all if the list is empty.
    case takes(roots: [WorkerConfiguration.RootPlace], queues: [String])
    /// Its rooms are ready, and locked to this level.
    case rooms(RoomLevel)
    case attempt(AttemptLine)
    /// It claims no jobs because of this problem, and checks again after `wait`.
    case paused(because: String, wait: Duration)
    case resumed
    /// It leaves the jobs of this root to other workers, and checks the root after `wait`; at once and until it
    /// answers, if that is zero.
    case rootLost(String, because: String, wait: Duration)
    /// `note` names what is mounted there now, if it differs from before.
    case rootBack(String, note: String?)
    /// It puts off jobs that write to this file system below one of its roots, until there is space.
    case fileSystemFull(FileSystemFacts)
    case fileSystemBack(FileSystemFacts)
    /// It puts off jobs whose files lie on this file system, which is no longer mounted.
    case mountLost(MountWatch.Lost)
    /// `note` names what is mounted there now, if it differs from before.
    case mountBack(String, note: String?)
    /// It puts off jobs whose outputs its user may not write to this root.
    case rootDenied(String, because: String)
    case rootAllowed(String)
    /// No beat was answered for a whole lease. `jobs` go on, and the worker keeps them for `keptFor`.
    case leaseOverdue(worker: Int64, jobs: Int, keptFor: Duration)
    /// The ledger answers again, and the worker still holds its jobs.
    case leaseRevived(worker: Int64, jobs: Int)
    /// Its lease ended, or the ledger has not answered for too long. It stopped `stopped` conversions
    /// and discarded their outputs.
    case leaseLost(worker: Int64, stopped: Int)
    case registeredAgain(worker: Int64)
    /// The ledger cannot be reached; `ledgerBack` reports that it answers again.
    case ledgerAway(Failure)
    case ledgerBack
    case draining(running: Int, handedBack: Int)
    /// It ends because it is idle, as its configuration says.
    case idle
    /// It finished the publications that other processes had left.
    case finishedForOthers(Int)
    /// It removed files that dead workers had left.
    case swept(folder: String, files: Int)
    /// A chore failed and will be tried again.
    case trouble(Failure)
    /// `handedBack` is the number of jobs that the worker still held, by the ledger's count.
    case stopped(worker: Int64, handedBack: Int?)
}

/// The facts of one attempt, for one line of a log.
public struct AttemptLine: Sendable, Hashable {
    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        case completed, skipped, failed, released, cancelled, lost
        /// The output has no final name yet; another process will publish it.
        case publishing
    }

    public var job: Int64
    public var epoch: Int32
    public var batch: Int64
    public var queue: String
    /// The number of this attempt, from 1, among those that count.
    public var attempt: Int
    public var maxAttempts: Int
    public var slot: Int?
    public var outcome: Outcome
    public var source: String
    public var destination: String
    public var took: Duration?
    public var frames: Int64?
    public var audio: Duration?
    public var bytes: Int64?
    public var failure: Failure?
    /// Why the job was handed back.
    public var reason: String?
}

extension AttemptLine {
    init(_ job: HeldJob, _ closing: WorkerState.Closing, _ output: FinishedOutput?) {
        let claim = job.claim
        self.init(
            job: claim.fence.job,
            epoch: claim.fence.epoch,
            batch: claim.batch,
            queue: claim.queue,
            attempt: claim.attempt,
            maxAttempts: claim.maxAttempts,
            slot: job.place?.slot,
            outcome: Outcome(closing.outcome),
            source: claim.recipe.sources.first?.location ?? "",
            destination: claim.recipe.outputs.first?.location ?? "",
            took: job.startedAt.map { (job.convertedAt ?? .now) - $0 },
            frames: closing.frames,
            failure: closing.failure,
            reason: closing.reason
        )
        guard let output, job.phase == .publishing else { return }
        (frames, audio) = (output.facts.framesOut ?? output.facts.scan?.frames, output.facts.audio)
        // A scan writes nothing, which is not an empty file.
        bytes = claim.recipe.scan == nil ? output.bytes : nil
        if output.published == .skipped { outcome = .skipped }
        if output.published == .adopted { reason = PublishOutcome.adopted.rawValue }
    }
}

extension AttemptLine.Outcome {
    init(_ outcome: WorkerState.Closing.Outcome) {
        self =
            switch outcome {
            case .completed: .completed
            case .failed: .failed
            case .released: .released
            case .cancelled: .cancelled
            case .lost: .lost
            case .publishing: .publishing
            }
    }
}
