/// Times of programs that ran in turns, so that a slow phase of the machine affects all of them.
struct Rounds {
    /// The seconds of every program, round by round.
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

    /// The median of one program's times.
    func median(of program: Int) -> Double { Self.median(seconds.map { $0[program] }) }

    /// One program's time divided by the other's, round by round.
    func ratio(_ program: Int, over other: Int) -> Ratio {
        Ratio(seconds.map { $0[program] / $0[other] })
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// The median and the range of the ratios of pairs.
struct Ratio {
    let median: Double
    let lowest: Double
    let highest: Double

    /// `ratios` must not be empty.
    init(_ ratios: [Double]) {
        median = Rounds.median(ratios)
        lowest = ratios.min() ?? .nan
        highest = ratios.max() ?? .nan
    }

    /// For example `1.04 [1.02..1.07]`.
    var text: String { "\(median.fixed(2)) [\(lowest.fixed(2))..\(highest.fixed(2))]" }
}
