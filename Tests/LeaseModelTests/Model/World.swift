/// The whole system: ledger, replica, workers, coordinators, folder, network and real time.
struct World {
    let scenario: Scenario
    let guards: Guards
    /// Promises that may be broken, to see what else breaks.
    let overlooked: Set<Violation>

    /// Real time. Only the model's checks read it, not the modelled processes.
    var now: Milliseconds = 100_000
    /// How much of that time the ledger was reachable.
    private(set) var reachable: Milliseconds = 0
    /// How often it went away and came back as the same server.
    private(set) var outages = 0
    var ledger = Ledger()
    /// The states that a replica, or the disk, would have if the server died now: the ledger before each of the
    /// last commits.
    private(set) var history: [(ledger: Ledger, isAsynchronous: Bool)] = []
    private(set) var isServing = true
    /// Counts servers and their starts.
    private(set) var server = 1
    /// How far the server's clock is ahead of real time.
    private(set) var skew: Milliseconds = 0

    var folder: Folder
    var processes: [WorkerProcess?]
    var keepers = [Keeper(), Keeper()]
    var calls: [Call] = []

    /// Renames that processes requested before they lost the connection to the storage. They may happen at any time.
    var lateNames: [Order] = []

    /// Whether the disk refuses the next rename to a final name.
    var isDiskBad = false
    /// No more faults happen, so every open job must end.
    var isCalm = false

    private var lastNumber = 0

    // Only the model knows these.
    /// For each request, whether its submitter received the answer that the job is in the ledger.
    var promised: [Bool]
    /// All publications that the ledger ever committed.
    var committed: [AttemptKey] = []
    /// Committed claims and publications that a failover lost.
    var lostClaims: [Fence] = []
    var lostOrders: [Order] = []
    /// Fences that housekeeping had ended and a failover restored. Their files may have been swept meanwhile.
    var lostEnds: [Fence] = []
    /// The values of `reachable` and `outages` when the ledger last renewed a worker's lease, by the worker's key.
    var heard: [Int: (reachable: Milliseconds, outages: Int)] = [:]
    /// Fences whose files did not get their names although they could have.
    var spoiled: [Fence] = []
    /// The content that each request has shown under its final name.
    var shown: [Content?]
    /// The answers that were given and the results of renames, to know what a run covered.
    var answers: [FenceAnswer] = []
    var namings: [Folder.Naming] = []
    var violation: Violation?
    /// What happened, for people; `nil` unless requested.
    var trace: [String]?

    init(_ scenario: Scenario, under guards: Guards, overlooking overlooked: Set<Violation>, isTraced: Bool) {
        self.scenario = scenario
        self.overlooked = overlooked
        self.guards = guards
        folder = Folder(places: scenario.places, occupied: scenario.occupied)
        processes = Array(repeating: nil, count: scenario.workers)
        promised = Array(repeating: false, count: scenario.requests.count)
        shown = Array(repeating: nil, count: scenario.requests.count)
        trace = isTraced ? [] : nil
        for index in processes.indices { start(index) }
        if scenario.isFresh { for index in keepers.indices { keepers[index].isPaused = true } }
    }

    /// The ledger's time.
    var t: Milliseconds { now + skew }

    mutating func pass(_ time: Milliseconds) {
        now += time
        if isServing { reachable += time }
    }

    /// Takes back time that did not pass after all.
    mutating func takeBack(_ time: Milliseconds) { pass(-time) }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func start(_ index: Int) {
        let number = nextNumber()
        processes[index] = WorkerProcess(
            number: number,
            build: scenario.hasTwoBuilds ? index % 2 : 0,
            patience: scenario.patience
        )
    }

    /// Records an event. Builds the text only if a trace was requested.
    mutating func tell(_ words: (World) -> String) {
        guard trace != nil else { return }
        let line = words(self)
        trace?.append("\(now - 100_000) ms  \(line)")
    }

    mutating func broke(_ promise: Violation) {
        if violation == nil && !overlooked.contains(promise) { violation = promise }
    }

    // MARK: - Commits and their loss

    /// Stores the state of the ledger before the last commit.
    mutating func remember(_ before: Ledger, isAsynchronous: Bool = false) {
        if history.count == 12 { history.removeFirst(4) }
        history.append((before, isAsynchronous))
        if let breach = ledger.takeBreach() { broke(breach) }
    }

    mutating func goDown() {
        guard isServing else { return }
        tell { _ in "the ledger cannot be reached" }
        isServing = false
        outages += 1
        loseConnections()
    }

    mutating func comeUp() {
        tell { _ in "the ledger can be reached" }
        isServing = true
    }

    /// Restarts the server with what its disk has: all but the last commits that no caller waited for.
    mutating func restart() {
        loseTail(0)
        server += 1
        loseConnections()
        isServing = true
    }

    /// A replica takes over that lacks the last `count` commits, as far as they may be missing.
    mutating func failOver(losing count: Int, skew: Milliseconds) {
        loseTail(scenario.isSynchronous ? 0 : count)
        server += 1
        self.skew = skew
        loseConnections()
        isServing = true
    }

    private mutating func loseTail(_ count: Int) {
        let before = ledger
        var kept = ledger
        var left = count
        while let last = history.last, last.isAsynchronous || left > 0 {
            if !last.isAsynchronous { left -= 1 }
            kept = last.ledger
            history.removeLast()
        }
        ledger.loseCommits(since: kept)
        guard count > 0 else { return }
        lostEnds += before.takenAway.filter { !ledger.takenAway.contains($0) }
        for job in before.jobs.indices {
            let old = before.jobs[job]
            let isKnown = job < ledger.jobs.count && ledger.jobs[job].request == old.request
            if !isKnown { promised[old.request] = ledger.jobs.contains { $0.request == old.request } }
            let isSame = isKnown && ledger.jobs[job].lease == old.lease
            if old.lease > 0 && !isSame { lostClaims.append(Fence(job: job, epoch: old.epoch, lease: old.lease)) }
            guard let order = old.order else { continue }
            if !isSame || ledger.jobs[job].order != order { lostOrders.append(order) }
        }
    }

    /// Loses all pending calls: requests under way are not carried out, and results are not delivered.
    private mutating func loseConnections() {
        for call in calls where call.isAwaited { deliver(.unknown, of: call) }
        calls.removeAll()
    }

    // MARK: - Calls

    mutating func call(_ operation: Call.Operation, from process: Int?) -> Int {
        let id = nextNumber()
        calls.append(Call(id: id, process: process, operation: operation))
        return id
    }

    /// Carries out a call in the ledger.
    mutating func carryOut(_ index: Int) {
        let call = calls[index]
        let cut = ledgerCut(of: call)
        if !isServing || cut == .both && call.isAwaited {
            calls.remove(at: index)
            if call.isAwaited { deliver(.unknown, of: call) }
            return
        }
        let before = ledger
        var isAsynchronous = false
        let answer: Call.Answer
        var mustRollBack = false
        func said(_ answer: FenceAnswer?) -> Call.Answer {
            mustRollBack = answer == nil
            if let answer, !answers.contains(answer) { answers.append(answer) }
            return answer.map { .said($0) } ?? .unknown
        }
        switch call.operation {
        case .submit(let request):
            ledger.submit(request, under: guards)
            answer = .none
        case .register:
            answer = .registered(ledger.register(key: nextNumber(), at: t))
        case .claim(let worker, let wanted):
            let fences = ledger.claim(
                worker,
                wanted: wanted,
                number: call.id,
                lease: nextNumber(),
                at: t,
                under: guards
            )
            answer = fences.map { .fences($0) } ?? .refused
        case .held(let worker, let claim):
            if let claim { ledger.barClaims(of: worker, upTo: claim, under: guards) }
            answer = .fences(ledger.held(worker, under: guards))
        case .beat(let worker, let fences):
            isAsynchronous = true
            let told = ledger.beat(worker, fences, at: t, under: guards)
            answer = told.map { .beat(lost: $0.lost, cancelled: $0.cancelled) } ?? .refused
        case .stop(let worker):
            mustRollBack = !ledger.stop(worker, at: t, under: guards)
            answer = .none
        case .publish(let order):
            answer = said(ledger.publish(order, at: t, under: guards))
            if case .said(.done) = answer { committed.append(order.key) }
        case .finish(let fence): answer = said(ledger.finish(fence, at: t, under: guards))
        case .fail(let fence, let reason): answer = said(ledger.fail(fence, reason, at: t, under: guards))
        case .release(let fence): answer = said(ledger.release(fence, at: t, under: guards))
        }
        tell { _ in
            let caller = call.process.map { "#\($0)" } ?? "a submitter"
            return "  ledger: \(call.operation.words) of \(caller) -> \(answer.words)"
        }
        switch (call.operation, answer) {
        case (.claim, .fences(let fences)) where fences.isEmpty: mustRollBack = ledger.revivals == before.revivals
        case (.held(_, barring: nil), _): mustRollBack = true
        default: break
        }
        if mustRollBack {
            ledger.rollBack(to: before)
        } else {
            remember(before, isAsynchronous: isAsynchronous)
            hearOf(call, answer, hasRevived: ledger.revivals > before.revivals)
        }
        if call.isAwaited && cut == .answers {
            calls.remove(at: index)
            deliver(.unknown, of: call)
        } else if call.isAwaited {
            calls[index].answer = answer
        } else {
            calls.remove(at: index)
        }
    }
}

extension Call.Operation {
    var words: String {
        switch self {
        case .submit(let request): "submit request \(request)"
        case .register: "register"
        case .claim(let worker, let wanted): "claim \(wanted) for worker \(worker.id)"
        case .held(let worker, let claim): "held by worker \(worker.id)\(claim == nil ? "" : ", its claims given up")"
        case .beat(let worker, let fences): "beat of worker \(worker.id) with \(fences.map(\.words))"
        case .stop(let worker): "stop worker \(worker.id)"
        case .publish(let order): "publish \(order.fence.words)"
        case .finish(let fence): "finish \(fence.words)"
        case .fail(let fence, let reason): "fail \(fence.words) \(reason.code)"
        case .release(let fence): "release \(fence.words)"
        }
    }
}

extension Call.Answer {
    var words: String {
        switch self {
        case .none: "done"
        case .registered(let worker): "worker \(worker.id)"
        case .refused: "refused: the worker has been ended"
        case .fences(let fences): "\(fences.map(\.words))"
        case .beat(let lost, let cancelled): "alive, lost \(lost.map(\.words)), to stop \(cancelled.map(\.words))"
        case .said(let answer): "\(answer)"
        case .unknown: "no answer"
        }
    }
}

extension Fence {
    var words: String { "\(job).\(epoch).\(lease)" }
}
