import Conversion

/// Counts what came in, at whatever rates, and says exactly how many frames must go out.
///
/// One clock for the whole output: a change of rate in mid-stream adds no drift, because the sum stays a fraction.
struct OutputClock {
    let rate: Int
    /// Frames of the present rate, and the exact output frames of all earlier stretches.
    private var frames: Int64 = 0
    private var inputRate: Int
    private var settled: Int64 = 0

    init(rate: Int) {
        self.rate = rate
        inputRate = rate
    }

    mutating func add(_ count: Int, rate: Int) {
        if rate != inputRate {
            settled = planned
            (frames, inputRate) = (0, rate)
        }
        frames += Int64(count)
    }

    /// Frames that the output must have for what came in so far, to the nearest.
    var planned: Int64 {
        let (quotient, remainder) = Int128(frames).multipliedReportingOverflow(by: Int128(rate)).partialValue
            .quotientAndRemainder(dividingBy: Int128(inputRate))
        return settled + Int64(quotient) + (remainder * 2 >= Int128(inputRate) ? 1 : 0)
    }
}
