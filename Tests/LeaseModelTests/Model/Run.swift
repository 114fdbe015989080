import TestSupport

/// One world from its start to its end, generated from `seed`.
struct Run: Sendable {
    let seed: UInt64
    let guards: Guards
    let scenario: Scenario
    let overlooked: Set<Violation>

    /// How many steps happen before all faults stop.
    static let length = 400

    init(
        seed: UInt64,
        under guards: Guards = .all,
        overlooking overlooked: Set<Violation> = [],
        in weather: Weather = .mixed
    ) {
        var dice = SeededGenerator(seed: seed)
        self.seed = seed
        self.guards = guards
        self.overlooked = overlooked
        scenario = Scenario(drawnFrom: &dice, weather)
    }

    /// Draws steps until enough have happened or a promise is broken. Returns the world at its end.
    ///
    /// Adds every step drawn to `steps`, unless that is `nil`: most runs are never examined.
    func live(keeping steps: inout [Step]?) -> World { live(fresh(isTraced: false), keeping: &steps) }

    /// All calls that reach the ledger, from the start of the run to its end.
    func ledgerTrace() -> LedgerTrace {
        var world = World(scenario, under: guards, overlooking: overlooked, isTraced: false)
        world.ledger = Ledger(isTraced: true)
        for request in scenario.requests.indices { world.submit(request) }
        var none: [Step]?
        return live(world, keeping: &none).ledger.trace ?? LedgerTrace()
    }

    private func live(_ fresh: World, keeping steps: inout [Step]?) -> World {
        var dice = SeededGenerator(seed: seed ^ 0x5EED)
        let table = Step.Kind.table(scenario.weights)
        var world = fresh
        var count = 0
        var tries = 0
        while count < Self.length && tries < 5 * Self.length && world.violation == nil && !world.isSettled {
            let step = Step.drawn(from: &dice, table, pace: scenario.pace)
            tries += 1
            if world.perform(step) { count += 1 }
            steps?.append(step)
        }
        world.settle()
        return world
    }

    /// Runs the given steps in the same world.
    func relive(_ steps: [Step], isTraced: Bool = false) -> World {
        var world = fresh(isTraced: isTraced)
        for step in steps where world.violation == nil { _ = world.perform(step) }
        world.settle()
        return world
    }

    private func fresh(isTraced: Bool) -> World {
        var world = World(scenario, under: guards, overlooking: overlooked, isTraced: isTraced)
        for request in scenario.requests.indices { world.submit(request) }
        return world
    }

    /// The fewest of `steps` that still break `promise`, as far as removing runs of steps can find.
    func shrink(_ steps: [Step], breaking promise: Violation) -> [Step] {
        var kept = steps
        var size = max(1, kept.count / 2)
        while true {
            var start = 0
            var isShorter = false
            while start < kept.count {
                let end = min(start + size, kept.count)
                // Keep the waiting time, so that later steps happen at the same time as before.
                let gap = kept[start..<end].reduce(0) { $0 + $1.wait }
                var shorter = Array(kept[..<start])
                var rest = Array(kept[end...])
                if let next = rest.first {
                    rest[0] = Step(kind: next.kind, who: next.who, dice: next.dice, wait: next.wait + gap)
                }
                shorter += rest
                if relive(shorter).violation == promise {
                    kept = shorter
                    isShorter = true
                } else {
                    start = end
                }
            }
            if size == 1 && !isShorter { return kept }
            size = max(1, size / 2)
        }
    }

    /// What happened, shortened, for people.
    func story() -> String {
        var steps: [Step]? = []
        guard let promise = live(keeping: &steps).violation else { return "seed \(seed): nothing is broken" }
        let world = relive(shrink(steps ?? [], breaking: promise), isTraced: true)
        let given = """
            seed \(seed): \(promise.rawValue)
            \(scenario.requests.count) jobs, \(scenario.requests.map { "\($0.policy) at \($0.place)" }.joined(separator: ", "))\
            \(scenario.occupied.map { ", place \($0) is taken" } ?? "")\
            \(scenario.hasTwoBuilds ? ", two builds" : "")\(scenario.isSynchronous ? ", synchronous replica" : "")
            """
        return ([given] + (world.trace ?? [])).joined(separator: "\n")
    }
}

extension World {
    /// Runs without faults until nothing is left to do, and checks the promises.
    mutating func settle() {
        if violation != nil { return }
        tell { _ in "from here on all goes well" }
        isCalm = true
        isDiskBad = false
        if !isServing { comeUp() }
        for who in 0..<(processes.count + keepers.count) { _ = resume(who) }
        for index in processes.indices { _ = mend(index) }
        while nameLate(dice: 0) {}
        var rounds = 0
        while rounds < 400 && violation == nil && !isSettled {
            rounds += 1
            let isBusy = calmRound()
            pass(isBusy ? 200 : 4_500)
            check()
        }
        checkEnd()
    }

    fileprivate var isSettled: Bool {
        if promised.contains(false) || ledger.hasLiveJobs || !folder.attempts.isEmpty { return false }
        for keeper in keepers where keeper.order != nil || !keeper.litter.isEmpty { return false }
        for process in processes { if let process, !process.isIdle { return false } }
        return true
    }

    /// Lets every process act once. Returns whether there is much activity.
    private mutating func calmRound() -> Bool {
        var isBusy = false
        for request in promised.indices where !promised[request] { submit(request) }
        while !calls.isEmpty {
            if calls[0].answer == nil { carryOut(0) }
            if let first = calls.first, let answer = first.answer {
                calls.removeFirst()
                deliver(answer, of: first)
            }
        }
        for index in processes.indices {
            if processes[index] == nil { _ = resume(index) }
            _ = beat(index)
            // These dice let no conversion fail.
            for turn in 0..<3 { _ = work(index, dice: UInt64(turn << 2 | 31 << 8)) }
            guard let me = processes[index] else { continue }
            if self.isBusy(me) { isBusy = true }
        }
        for index in keepers.indices {
            _ = keepHouse(index)
            if finishOther(index, dice: 1) { isBusy = true }
            _ = sweep(index)
        }
        return isBusy
    }
}
