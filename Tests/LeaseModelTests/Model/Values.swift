/// Milliseconds, of real time or of some clock. A plain number, because the model runs millions of steps.
typealias Milliseconds = Int

/// Durations. Where the settings allow a choice, they are as short as possible, because most faults happen then.
enum Times {
    static let lease = 30_000
    static let beat = 10_000
    /// How much earlier than the ledger a worker considers its lease over, unless it is patient beyond the lease.
    static let margin = 200
    static let publishGrace = 5_000
    static let sweepAge = 60_000
    /// Far longer than a lease, so that a job that stands still has long had no worker.
    static let stall = 150_000
    static let retryBase = 5_000
    static let retryCap = 900_000
    static let maxAttempts = 3
    static let lossesWithoutDelay = 1
}

/// The proof that a worker repeats with every write.
struct Fence: Hashable, Sendable {
    var job: Int
    var epoch: Int
    /// Random in the real ledger. Here ids are unique, and no failover brings one back.
    var lease: Int
}

/// How the ledger identifies a worker: a number from the ledger, which a failover may give out again, and the
/// worker's own key.
struct WorkerName: Hashable, Sendable {
    var id: Int
    var key: Int
}

/// A request: the output of one source at one destination. In `Content`, `-1` stands for a foreign file.
struct Request: Sendable {
    var place: Int
    var policy: Policy
}

enum Policy: UInt8, Sendable { case fail, replace }

/// The name of an attempt's file. With all guards in force, no two attempts share one.
struct AttemptKey: Hashable, Sendable {
    var job: Int
    var epoch: Int
    var lease: Int
}

/// The content of a file.
struct Content: Hashable, Sendable {
    var request: Int
    /// Workers of one build make the same bytes from one request. Two builds may differ.
    var build: Int
    var isWhole = true

    static let foreign = Content(request: -1, build: 0)
}

/// The ledger's record of an output to rename.
struct Order: Hashable, Sendable {
    var fence: Fence
    var request: Int
    var key: AttemptKey
    var content: Content
}

enum FailureClass: UInt8, Sendable { case permanent, transient, infrastructure }

/// Why an attempt failed, and whether the job itself caused it.
struct Reason: Hashable, Sendable {
    var failureClass: FailureClass
    var code: Code
    /// Only the model knows this: the conversion or its output failed, not its surroundings.
    var isGenuine: Bool

    enum Code: UInt8, Sendable { case conversion, destinationIO, destinationExists, attemptLost, workerLost, stalled }
}

/// The answer to a fenced write.
enum FenceAnswer: UInt8, Sendable { case done, repeated, lost, cancelled, publishing }

/// A broken promise, with the text that reports it.
enum Violation: String, Hashable, Sendable, CaseIterable {
    // The files.
    case publishedWithoutRight = "a file has its final name without an order from the ledger"
    case tornFile = "a file under its final name is not whole"
    case foreignFileTouched = "a file that was there before is gone, and no job was to replace it"
    case wrongFile = "a completed job's file is not the one that the ledger records"
    case missingFile = "a completed job's file is not there"
    case publishedTwice = "one job showed two different files under its final name"
    case litter = "attempts' files are left over"
    // The ledger.
    case endedTwice = "a job ended twice"
    case jobLost = "a promised job is not in the ledger"
    case jobDoubled = "one submission is in the ledger twice"
    case neverEnds = "a live job never ends"
    case attemptErased = "an attempt has no record"
    case attemptMisspent = "an attempt was spent, and the job did not cause the failure"
    case cancelledJobCompleted = "a job that was to be stopped was published"
    case promiseFailed = "a job failed for a reason that was not its own"
    // Leases and claims.
    case twoOwners = "two processes work on one job, and housekeeping took it from neither"
    case claimedByEnded = "a job was claimed by a worker that had been ended"
    case endedRevived = "a worker that had been ended was revived"
    case leaseCutShort = "a worker was taken for lost before its lease was over"
    case reapedTooSoon = "a worker was taken for lost before it could come back"
}
