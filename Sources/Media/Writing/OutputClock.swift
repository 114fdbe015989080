/// Counts what came in, at whatever rates, and says exactly how many frames must go out.
///
/// One clock for the whole output: a change of rate in mid-stream adds no drift, because the sum stays a fraction.
struct OutputClock {
    let rate: Int
    /// Frames of the present rate since the last change.
    private var frames: Int64 = 0
    private var inputRate: Int
    /// Output frames of all earlier stretches: whole ones, and a fraction below one.
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

    /// Frames that the output must have for what came in so far, to the nearest.
    var planned: Int64 {
        let (whole, part) = present
        guard rest.numerator != 0 else {
            return settled.addingSaturated(whole).addingSaturated(part * 2 >= Int128(inputRate) ? 1 : 0)
        }
        var sum = rest
        sum.add(part, over: Int128(inputRate))
        return settled.addingSaturated(whole).addingSaturated(sum.rounded)
    }

    /// Output frames of the present stretch: whole ones, and what is left over the input's rate.
    private var present: (whole: Int64, part: Int128) {
        let (quotient, remainder) = (Int128(frames) * Int128(rate)).quotientAndRemainder(dividingBy: Int128(inputRate))
        return (Int64(clamping: quotient), remainder)
    }
}

/// A sum of parts of frames.
private struct Fraction {
    private(set) var numerator: Int128 = 0
    private var denominator: Int128 = 1

    /// More than any set of real rates needs. A stream of absurd ones is rounded, by half a frame each time.
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
