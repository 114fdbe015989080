/// Counts input frames at any sample rate, and computes exactly how many output frames are due.
///
/// There is one clock for the whole output: a rate change in mid-stream adds no drift,
/// because the sum stays a fraction.
struct OutputClock {
    let rate: Int
    /// Input frames since the last rate change, at the present rate.
    private var frames: Int64 = 0
    private var inputRate: Int
    /// Output frames for all input before that: whole frames, and a fraction below one.
    private var settled: Int64 = 0
    private var rest = Fraction()

    init(rate: Int) {
        self.rate = rate
        inputRate = rate
    }

    mutating func add(_ count: Int, rate: Int) {
        if rate != inputRate {
            let (whole, part) = present
            rest.add(part, over: Int128(inputRate))
            settled = settled.addingSaturated(whole).addingSaturated(rest.takeWhole())
            (frames, inputRate) = (0, rate)
        }
        frames = frames.addingSaturated(Int64(count))
    }

    /// The output frames due for the input so far, to the nearest.
    var planned: Int64 {
        let (whole, part) = present
        guard rest.numerator != 0 else {
            return settled.addingSaturated(whole).addingSaturated(part * 2 >= Int128(inputRate) ? 1 : 0)
        }
        var sum = rest
        sum.add(part, over: Int128(inputRate))
        return settled.addingSaturated(whole).addingSaturated(sum.rounded)
    }

    /// Output frames since the last rate change: whole frames, and a remainder over the input rate.
    private var present: (whole: Int64, part: Int128) {
        let (quotient, remainder) = (Int128(frames) * Int128(rate)).quotientAndRemainder(dividingBy: Int128(inputRate))
        return (Int64(clamping: quotient), remainder)
    }
}

/// A sum of fractions of frames.
private struct Fraction {
    private(set) var numerator: Int128 = 0
    private var denominator: Int128 = 1

    /// More than any set of real sample rates needs. Absurd rates make the sum round, by
    /// at most half a frame each time.
    private static let greatestDenominator: Int128 = 1 << 64

    mutating func add(_ part: Int128, over whole: Int128) {
        numerator = numerator * whole + part * denominator
        denominator *= whole
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        if a > 1 { (numerator, denominator) = (numerator / a, denominator / a) }
        if denominator > Self.greatestDenominator { (numerator, denominator) = (Int128(rounded), 1) }
    }

    mutating func takeWhole() -> Int64 {
        defer { numerator %= denominator }
        return Int64(numerator / denominator)
    }

    var rounded: Int64 { Int64((numerator * 2 + denominator) / (denominator * 2)) }
}
