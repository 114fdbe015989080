import Conversion
import Ledger
import WorkerRules

/// A worker process, from its start to its end: the decisions of the production worker, and in place of its stages a
/// model that may be interrupted at any point.
final class WorkerProcess {
    enum Cut: UInt8, Sendable { case both, answers }

    /// Like a process id that is never reused.
    let number: Int
    let build: Int
    /// What the worker knows and decides: the same value as in production.
    var state: WorkerState
    var isPaused = false
    /// Whether the connection to the ledger is cut, and in which directions: both, or only that of the answers.
    var ledgerCut: Cut?
    /// Whether the storage does not answer. The storage may carry out pending requests later.
    var isCutFromStorage = false

    // MARK: The stages

    /// What the ledger needs to know this process by, for each number that it has given it.
    var names: [Int64: WorkerName] = [:]
    var registration: Registration?
    var asking: Asking?
    var conversions: [Converting] = []
    var digests: [FenceOfJob] = []
    var publishing: PublisherTask?
    var discards: [Order] = []
    /// The outputs of all jobs in hand, made or not.
    var orders: [FenceOfJob: Order] = [:]
    /// Outputs that are made, and that the worker may still publish.
    var made: Set<FenceOfJob> = []
    /// Outputs that have their attempts' names.
    var linked: Set<FenceOfJob> = []
    /// Why conversions or their outputs failed.
    var reasons: [FenceOfJob: Reason] = [:]
    var beating: Beating?
    var beatSentAt: Milliseconds = 0
    /// The last call before the process ends.
    var goodbye: Goodbye?

    init(number: Int, build: Int, patience: Milliseconds) {
        self.number = number
        self.build = build
        // The processes differ in all that may make a difference.
        state = WorkerState(
            WorkerSettings(
                slots: 2,
                pipelinesPerSlot: 1 + number % 2,
                workAhead: number % 3 == 0 ? .seconds(1) : .zero,
                unpublishedLimit: 4,
                groupLimit: number % 2 == 0 ? 200 : 1,
                outageLimit: .milliseconds(patience),
                firstPause: .seconds(5),
                longestPause: .seconds(60),
                roots: [],
                codecs: [],
                seed: UInt64(number)
            )
        )
        registration = Registration(abilities: [])
    }

    // MARK: What the stages do

    struct Registration: Sendable {
        let abilities: [String]
        var call: Int?
        var sentAt: Milliseconds = 0
    }

    struct Asking: Sendable {
        let question: WorkerState.Question
        var call: Int?
        /// The last claim, if it was not answered, until the ledger bars it.
        var claimToBar: Int?
        var tries = 0
        /// How many strays are released.
        var released = 0
    }

    struct Converting: Sendable {
        let fence: FenceOfJob
        let until: Milliseconds
        var isStopped = false
    }

    /// A step of the publisher, which takes its jobs one after the other.
    struct PublisherTask: Sendable {
        enum Completing: Sendable {
            case naming, named, flushed
            case failing(Reason)
        }

        let step: WorkerState.PublisherStep
        /// The jobs that are done with.
        var place = 0
        var call: Int?
        /// When a slow disk is done.
        var until: Milliseconds = 0
        var completing = Completing.naming
        /// Whether it no longer waits for an answer. Used without the guard `unansweredIsKept`.
        var isGivenUp = false
        var linked: [FenceOfJob] = []
        var others: [FenceOfJob: Setback] = [:]
        var answers: [FenceOfJob: JobAnswer?] = [:]
        var results: [FenceOfJob: WorkerState.Completion] = [:]
    }

    struct Beating: Sendable {
        let call: Int
        let worker: Int64
        let told: [RunningJob]
        let sentAt: Milliseconds
    }

    struct Goodbye: Sendable {
        var call: Int?
        var isSaid = false
    }

    // MARK: What the checks read

    /// Whether the process holds no job, and has nothing to clear away.
    var isIdle: Bool { state.isEmpty && discards.isEmpty && publishing == nil && goodbye == nil }

    /// The jobs that the worker continues by its own decision, for as long as its lease lasts.
    var workedOn: [FenceOfJob] { conversions.filter { !$0.isStopped }.map(\.fence) + made }
}
