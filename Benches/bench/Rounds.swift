/// Times of programs that took turns, so that what slows the machine for a while slows all of them.
struct Rounds {
    /// CPU seconds of every program, round by round.
    private(set) var seconds: [[Double]] = []

    /// Runs every program once in each round, always in the same order, after one `warmUp` of each.
    static func run(
        _ count: Int,
        warmUp: [() throws -> Void] = [],
        _ programs: [() throws -> Double]
    ) throws -> Rounds {
        for program in warmUp { try program() }
        var rounds = Rounds()
        for _ in 0..<count { rounds.seconds.append(try programs.map { try $0() }) }
        return rounds
    }

    /// The middle of one program's times.
    func median(of program: Int) -> Double { Self.median(seconds.map { $0[program] }) }

    /// One program's time over the other's, round by round.
    func ratio(_ program: Int, over other: Int) -> Ratio {
        Ratio(seconds.map { $0[program] / $0[other] })
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// The ratios of pairs: the middle one, and how far they go apart.
struct Ratio {
    let median: Double
    let lowest: Double
    let highest: Double

    /// There must be at least one.
    init(_ ratios: [Double]) {
        median = Rounds.median(ratios)
        lowest = ratios.min() ?? .nan
        highest = ratios.max() ?? .nan
    }

    /// `1.04 [1.02..1.07]`
    var text: String { "\(median.fixed(2)) [\(lowest.fixed(2))..\(highest.fixed(2))]" }
}
