/// Milliseconds, of real time or of some clock. A plain number: the model runs millions of steps.
typealias Milliseconds = Int

/// How long things take. Where the settings leave room, as short as they may be: that is when most can go wrong.
enum Times {
    static let lease = 30_000
    static let beat = 10_000
    /// How much earlier than the ledger a worker considers its lease over, if it waits no longer than that.
    static let margin = 200
    static let publishGrace = 5_000
    static let sweepAge = 60_000
    /// Far beyond a lease, so that a job found standing still has been nobody's for long.
    static let stall = 150_000
    static let retryBase = 5_000
    static let maxAttempts = 3
    static let lossesWithoutDelay = 3
}

/// The proof that a worker repeats with every write.
struct Fence: Hashable, Sendable {
    var job: Int
    var epoch: Int
    /// Drawn at random in earnest; here no two are the same, and no failover brings one back.
    var lease: Int
}

/// Who a worker is to the ledger: a number that the ledger gives, which a failover may give again, and a word of its own.
struct WorkerName: Hashable, Sendable {
    var id: Int
    var key: Int
}

/// What was asked for: the output of one source at one place. `-1` stands for nobody of ours.
struct Request: Sendable {
    var place: Int
    var policy: Policy
}

enum Policy: UInt8, Sendable { case fail, replace }

/// Names the file of an attempt. With all guards standing no two attempts share one.
struct AttemptKey: Hashable, Sendable {
    var job: Int
    var epoch: Int
    var lease: Int
}

/// What is in a file.
struct Content: Hashable, Sendable {
    var request: Int
    /// Workers of one build make the same bytes of one request; two builds need not.
    var build: Int
    var isWhole = true

    static let foreign = Content(request: -1, build: 0)
}

/// What the ledger keeps of an output that is to be given its name.
struct Order: Hashable, Sendable {
    var fence: Fence
    var request: Int
    var key: AttemptKey
    var content: Content
}

enum FailureClass: UInt8, Sendable { case permanent, transient, infrastructure }

/// Why an attempt failed, and whether the job had a hand in it.
struct Reason: Hashable, Sendable {
    var failureClass: FailureClass
    var code: Code
    /// Known to the model only: the conversion or its output did fail, and not what is around it.
    var isGenuine: Bool

    enum Code: UInt8, Sendable { case conversion, destinationIO, destinationExists, attemptLost, workerLost, stalled }
}

/// What a fenced write is told.
enum FenceAnswer: UInt8, Sendable { case done, repeated, lost, cancelled, publishing }

/// What breaks, in words of the promise that is broken.
enum Violation: String, Hashable, Sendable, CaseIterable {
    // The files.
    case publishedWithoutRight = "a file has its final name without the ledger's leave"
    case tornFile = "a file under its final name is not whole"
    case foreignFileTouched = "a file that was there before is gone, though nobody asked to replace it"
    case wrongFile = "a completed job's file is not the one that the ledger records"
    case missingFile = "a completed job's file is not there"
    case publishedTwice = "one job showed two different files under its final name"
    case litter = "attempts' files are left over"
    // The ledger.
    case endedTwice = "a job ended twice"
    case jobLost = "a promised job is not in the ledger"
    case jobDoubled = "one submission stands twice in the ledger"
    case neverEnds = "a live job never ends"
    case attemptErased = "an attempt has no record"
    case attemptMisspent = "an attempt was spent, and the job had no hand in its failure"
    case cancelledJobCompleted = "a job that was to be stopped was published"
    case promiseFailed = "a job failed for no reason of its own"
    // The right.
    case twoOwners = "two processes work on one job, and housekeeping took it from neither"
    case claimedByEnded = "a job was claimed by a worker that had been ended"
    case endedRevived = "a worker that had been ended was revived"
    case leaseCutShort = "a worker was taken for lost before its lease was over"
    case reapedTooSoon = "a worker was taken for lost before it could come back"
}
