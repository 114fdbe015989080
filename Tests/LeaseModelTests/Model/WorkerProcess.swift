/// A worker process, from its start to its end, as far as leases and files are concerned.
struct WorkerProcess: Sendable {
    /// How far a job in this worker has come.
    enum Phase: Sendable {
        case converting(until: Milliseconds)
        /// The output is complete, but has no name yet.
        case written
        /// The output has the name of its attempt. A slow disk may keep the worker here.
        case linked(until: Milliseconds)
        /// The worker may do nothing until the ledger has answered.
        case publishing
        /// The ledger has the publication.
        case published
        case named
        case flushed
        case failing(Reason)
        case releasing
    }

    enum Cut: UInt8, Sendable { case both, answers }

    struct Slot: Sendable {
        let fence: Fence
        var phase: Phase
        var order: Order
        /// The call that this slot waits for.
        var pending: Int?

        /// The lease is over. The slot only waits for the answer to its publish().
        var isAbandoned = false

        /// When the slot can go on; `nil`: at once.
        var waitsUntil: Milliseconds? {
            switch phase {
            case .converting(let until), .linked(let until): until
            default: nil
            }
        }

        /// Whether the worker continues this job by its own decision, for as long as its lease lasts.
        var isWorkedOn: Bool {
            switch phase {
            case .converting, .written, .linked: true
            default: false
            }
        }

        /// Whether the worker continues this job or waits for the ledger's decision about it.
        var isOwned: Bool {
            switch phase {
            case .converting, .written, .linked, .publishing: !isAbandoned
            default: false
            }
        }
    }

    /// Like a process id that is never reused.
    let number: Int
    let build: Int
    var isPaused = false
    /// Whether the connection to the ledger is cut, and in which directions: both, or only that of the answers.
    var ledgerCut: Cut?
    /// Whether the storage does not answer. The storage may carry out pending requests later.
    var isCutFromStorage = false
    var name: WorkerName?
    /// When it sent the last answered beat.
    var beatSentAt: Milliseconds = 0
    /// When this worker gives up, by its own clock.
    var deadline: Milliseconds = 0
    var slots: [Slot] = []
    /// All fences that it held under its present name, to tell new jobs from those it has let go.
    var known: [Fence] = []
    var mainCall: Int?
    var beatCall: Int?
    var mustAskHeld = false
    /// The last unanswered claim, until the ledger bars it.
    var claimToBar: Int?
    var isDraining = false

    func knows(_ fence: Fence) -> Bool { known.contains(fence) }

    func holds(_ fence: Fence) -> Bool {
        for slot in slots where slot.fence == fence { return true }
        return false
    }
}

/// A process that does the housekeeping, finishes publications that others left, and sweeps.
struct Keeper: Sendable {
    enum Phase: UInt8, Sendable { case handed, named, flushed, spoiled }

    var isPaused = false
    var order: Order?
    var phase = Phase.handed
    var reason: Reason?
    /// Attempts' files that it will remove next.
    var litter: [AttemptKey] = []
    /// Fences that were valid before the folder was listed, which is the wrong order. Used without the guard
    /// `sweepListsFirst`.
    var standing: [AttemptKey]?
}
