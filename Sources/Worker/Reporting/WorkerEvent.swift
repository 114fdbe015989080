public import Conversion
import Ledger
public import PumpRoom
public import Storage

/// What a worker has to say of itself, as it happens.
public enum WorkerEvent: Sendable, Hashable {
    case started(worker: Int64, lease: Duration)
    /// Which jobs it takes: those whose files lie under these roots, of these queues or of all.
    case takes(roots: [WorkerConfiguration.RootPlace], queues: [String])
    /// Its rooms are ready, and so far locked.
    case rooms(RoomLevel)
    case attempt(AttemptLine)
    /// It claims nothing until what is named here is mended, and looks after `wait`.
    case paused(because: String, wait: Duration)
    case resumed
    /// It leaves the jobs of this root to others, and looks for it after `wait`.
    case rootLost(String, because: String, wait: Duration)
    /// `note`: what is mounted now in place of what was.
    case rootBack(String, note: String?)
    /// It puts off jobs that write to a file system below one of its roots, until that has room.
    case fileSystemFull(FileSystemFacts)
    case fileSystemBack(FileSystemFacts)
    /// It puts off jobs whose files lie on a file system that is no longer mounted.
    case mountLost(MountWatch.Lost)
    /// `note`: what is mounted there now, where that is something else.
    case mountBack(String, note: String?)
    /// No beat was answered for a whole lease: so many jobs go on, and are kept for so long.
    case leaseOverdue(worker: Int64, jobs: Int, keptFor: Duration)
    /// The ledger answers again, and the worker still has what it had.
    case leaseRevived(worker: Int64, jobs: Int)
    /// Its lease has been ended, or the ledger has not answered for too long: `stopped` conversions were stopped, and what they wrote was thrown away.
    case leaseLost(worker: Int64, stopped: Int)
    case registeredAgain(worker: Int64)
    /// The ledger cannot be reached, or answers again.
    case ledgerAway(Failure)
    case ledgerBack
    case draining(running: Int, handedBack: Int)
    /// Publications of others, finished here.
    case finishedForOthers(Int)
    /// What dead workers left, removed.
    case swept(folder: String, files: Int)
    /// A chore that did not succeed and is tried again.
    case trouble(Failure)
    /// `handedBack`: jobs that it still held, as the ledger counts.
    case stopped(worker: Int64, handedBack: Int?)
}

/// One attempt, in one line.
public struct AttemptLine: Sendable, Hashable {
    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        case completed, skipped, failed, released, cancelled, lost
        /// Its file waits for its name, which another process gives it later.
        case publishing
    }

    public var job: Int64
    public var epoch: Int32
    public var batch: Int64
    public var queue: String
    /// Which of those that count, from 1.
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
    /// Why it was handed back.
    public var reason: String?
}

extension AttemptLine {
    init(_ job: JobInHand, _ outcome: Outcome) {
        let claim = job.claim
        self.init(
            job: claim.fence.job,
            epoch: claim.fence.epoch,
            batch: claim.batch,
            queue: claim.queue,
            attempt: claim.attempt,
            maxAttempts: claim.maxAttempts,
            slot: job.slot,
            outcome: outcome,
            source: claim.recipe.sources.first?.location ?? "",
            destination: claim.recipe.outputs.first?.location ?? "",
            took: job.startedAt.map { (job.convertedAt ?? .now) - $0 }
        )
    }
}
