/// A worker process, from its start to its end, as far as leases and files are concerned.
struct WorkerProcess: Sendable {
    /// Where a job of this worker stands.
    enum Phase: Sendable {
        case converting(until: Milliseconds)
        /// The output is whole, and has no name yet.
        case written
        /// The output has the name of its attempt. A slow disk may keep the worker here.
        case linked(until: Milliseconds)
        /// Not to be acted on before the ledger has answered.
        case publishing
        /// The ledger has the order.
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

        /// The lease is over; only the answer to its publish() is waited for.
        var isAbandoned = false

        /// When there is something to do in it; `nil`: at once.
        var waitsUntil: Milliseconds? {
            switch phase {
            case .converting(let until), .linked(let until): until
            default: nil
            }
        }

        /// Whether the worker goes on with this job by its own decision, as long as its lease lasts.
        var isWorkedOn: Bool {
            switch phase {
            case .converting, .written, .linked: true
            default: false
            }
        }

        /// The same, or it waits for the ledger to decide.
        var isOwned: Bool {
            switch phase {
            case .converting, .written, .linked, .publishing: !isAbandoned
            default: false
            }
        }
    }

    /// Like a process id that is never used again.
    let number: Int
    let build: Int
    var isPaused = false
    /// Whether it reaches neither the ledger nor the ledger's answers reach it, or only the answers are lost.
    var ledgerCut: Cut?
    /// Whether the storage does not answer it. What it has asked may be done there later.
    var isCutFromStorage = false
    var name: WorkerName?
    /// When the last answered beat was sent.
    var beatSentAt: Milliseconds = 0
    /// When this worker gives up by its own clock.
    var deadline: Milliseconds = 0
    var slots: [Slot] = []
    /// Everything that it ever held under its present name, to tell what is new from what it let go.
    var known: [Fence] = []
    var mainCall: Int?
    var beatCall: Int?
    var mustAskHeld = false
    /// The last claim that was not answered, until the ledger takes none like it any more.
    var claimToBar: Int?
    var isDraining = false

    func knows(_ fence: Fence) -> Bool { known.contains(fence) }

    func holds(_ fence: Fence) -> Bool {
        for slot in slots where slot.fence == fence { return true }
        return false
    }
}

/// Whoever keeps house, finishes what others left half published, and sweeps.
struct Keeper: Sendable {
    enum Phase: UInt8, Sendable { case handed, named, flushed, spoiled }

    var isPaused = false
    var order: Order?
    var phase = Phase.handed
    var reason: Reason?
    /// Attempts' files that it is about to remove.
    var litter: [AttemptKey] = []
    /// Fences that were found standing before the folder was listed, where that is the wrong way round.
    var standing: [AttemptKey]?
}
