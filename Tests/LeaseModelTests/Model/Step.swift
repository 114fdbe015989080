import TestSupport

/// One event. The same steps in the same world lead to the same end.
struct Step: Sendable {
    enum Kind: UInt8, Sendable, CaseIterable {
        case work, beat, deliver, answer, keep, finishOther, sweep
        case leap
        case client, breakConnection, pause, resume, kill, drain, badDisk
        case outage, restart, failover, powerCut
        case cutLedger, cutStorage, nameLate, mend
    }

    let kind: Kind
    /// The number of the process or other object that it affects, modulo their count.
    let who: Int
    /// Random bits for its details.
    let dice: UInt64
    /// The time that passes before it.
    let wait: Milliseconds
}

/// The faults that are likely.
enum Weather: Sendable {
    /// Any fault, but not every kind in each run.
    case mixed
    /// Any fault, but no loss of a commit that a caller waited for.
    case synchronous
    /// Failovers that lose commits, and workers of two builds that sleep through them.
    case tails
    /// A ledger that goes away again and again, and workers that lose the connection to it or to the storage.
    case partitions
    /// Rare beats, late answers, and workers that sleep past the end of their leases.
    case sleep
}

/// The initial conditions of a run.
struct Scenario: Sendable {
    var requests: [Request]
    var places: Int
    /// A destination that a foreign file occupies.
    var occupied: Int?
    var hasTwoBuilds: Bool
    /// Whether a commit is answered only once a replica has it.
    var isSynchronous: Bool
    var workers: Int
    /// The weight of each kind of step.
    var weights: [Int]
    /// The scale of the time between steps, as a power of two.
    var pace: Int
    /// Whether no keeper runs at first.
    var isFresh: Bool
    /// How long workers go on without an answer from the ledger.
    var patience: Milliseconds

    /// Draws a scenario. Each leaves out some faults, so that rare events get their chance.
    init(drawnFrom dice: inout SeededGenerator, _ weather: Weather) {
        let count = dice.whole(in: 2..<6)
        places = count
        requests = []
        for place in 0..<count {
            // Two jobs may share a destination only if the later one replaces.
            let isShared = place > 0 && dice.whole(in: 0..<6) == 0
            let policy: Policy = isShared || dice.whole(in: 0..<2) == 0 ? .replace : .fail
            requests.append(Request(place: isShared ? 0 : place, policy: policy))
        }
        occupied = dice.whole(in: 0..<6) == 0 ? count - 1 : nil
        hasTwoBuilds = dice.whole(in: 0..<2) == 0
        isSynchronous = dice.whole(in: 0..<2) == 0
        workers = dice.whole(in: 2..<4)
        weights = Step.Kind.allCases.map(\.usualWeight)
        for kind in Step.Kind.allCases where kind.rawValue >= Step.Kind.client.rawValue {
            weights[Int(kind.rawValue)] *= [0, 0, 1, 2][dice.whole(in: 0..<4)]
        }
        for kind in [Step.Kind.beat, .keep, .sweep, .leap] where dice.whole(in: 0..<3) == 0 {
            weights[Int(kind.rawValue)] = 1 + weights[Int(kind.rawValue)] / 6
        }
        // Paused processes must resume at some time.
        weights[Int(Step.Kind.resume.rawValue)] = [4, 15, 40][dice.whole(in: 0..<3)]
        pace = dice.whole(in: 0..<3)
        weights[Int(Step.Kind.mend.rawValue)] = [4, 15, 40][dice.whole(in: 0..<3)]
        isFresh = dice.whole(in: 0..<3) == 0
        // A lease, two leases, or longer than any run lasts.
        patience = [Times.lease - Times.margin, 2 * Times.lease, 100 * Times.lease][dice.whole(in: 0..<3)]
        switch weather {
        case .mixed: break
        case .synchronous: isSynchronous = true
        case .partitions:
            let kinds: [(Step.Kind, Int)] = [
                (.outage, 12), (.restart, 3), (.cutLedger, 15), (.cutStorage, 12), (.nameLate, 30), (.mend, 20),
                (.pause, 8), (.resume, 20), (.leap, 10), (.keep, 80), (.badDisk, 4), (.powerCut, 0),
            ]
            pace += 1
            for (kind, weight) in kinds { weights[Int(kind.rawValue)] = weight }
        case .sleep:
            let kinds: [(Step.Kind, Int)] = [
                (.beat, 15), (.answer, 30), (.keep, 80), (.leap, 10), (.pause, 20), (.resume, 8), (.sweep, 60),
            ]
            pace += 1
            for kind in Step.Kind.allCases.drop(while: { $0 != .client }) { weights[Int(kind.rawValue)] = 0 }
            for (kind, weight) in kinds { weights[Int(kind.rawValue)] = weight }
        case .tails:
            isSynchronous = false
            hasTwoBuilds = true
            isFresh = false
            pace = 0
            weights[Int(Step.Kind.failover.rawValue)] = 10
            weights[Int(Step.Kind.pause.rawValue)] = 60
            weights[Int(Step.Kind.resume.rawValue)] = 30
            weights[Int(Step.Kind.leap.rawValue)] = 2
            weights[Int(Step.Kind.sweep.rawValue)] = 80
            weights[Int(Step.Kind.keep.rawValue)] = 60
            weights[Int(Step.Kind.client.rawValue)] = 20
            for kind in [Step.Kind.kill, .drain, .powerCut, .cutLedger, .cutStorage] { weights[Int(kind.rawValue)] = 0 }
        }
    }
}

extension Step.Kind {
    fileprivate var usualWeight: Int {
        switch self {
        case .work: 300
        case .deliver, .answer: 200
        case .beat: 80
        case .keep: 40
        case .finishOther: 40
        case .sweep: 20
        case .resume, .mend: 20
        case .client, .breakConnection, .pause: 10
        case .nameLate: 10
        case .kill, .drain, .badDisk, .cutLedger, .cutStorage: 4
        case .leap, .outage, .restart, .failover, .powerCut: 2
        }
    }

    /// Each kind as often as `weights` says.
    static func table(_ weights: [Int]) -> [Step.Kind] {
        allCases.flatMap { Array(repeating: $0, count: weights[Int($0.rawValue)]) }
    }
}

extension Step {
    /// Draws the next step.
    static func drawn(from dice: inout SeededGenerator, _ table: [Kind], pace: Int) -> Step {
        let bits = dice.next()
        // Mostly moments, so that things overlap; sometimes about a beat, rarely more than a lease.
        let wait: Milliseconds
        switch bits >> 56 {
        case 0..<200: wait = Int((bits >> 40) & 0x1F)
        case 200..<248: wait = Int((bits >> 40) & 0xFF)
        case 248..<255: wait = Int((bits >> 40) & 0x7FF)
        default: wait = Int((bits >> 40) & 0x3FFF)
        }
        let kind = table[Int((bits & 0xFFFF_FFFF) % UInt64(table.count))]
        return Step(kind: kind, who: Int((bits >> 32) & 0xFF), dice: dice.next(), wait: wait << pace)
    }
}

extension Step {
    /// Quiet work, with an outage of that length in the middle, and the first steps after it.
    static func aroundAnOutage(of length: Milliseconds, drawnFrom seed: UInt64) -> [Step] {
        var dice = SeededGenerator(seed: seed ^ 0xA1A4)
        let kinds: [Kind] = [.work, .work, .work, .deliver, .deliver, .answer, .answer, .beat, .keep]
        func quiet(_ count: Int) -> [Step] { (0..<count).map { _ in drawn(from: &dice, kinds, pace: 0) } }
        let before = quiet(20 + dice.whole(in: 0..<60))
        let outage = [
            Step(kind: .outage, who: 0, dice: 0, wait: 0),
            Step(kind: .work, who: 0, dice: 31 << 8 | 1, wait: length / 2),
            Step(kind: .work, who: 1, dice: 31 << 8 | 1, wait: 0), Step(kind: .resume, who: 0, dice: 0, wait: length),
        ]
        return before + outage + quiet(dice.whole(in: 0..<30))
    }
}
