/// How large a number out of a file may be before it is taken for nonsense. Everything behind it adds and multiplies such
/// numbers, so they are bounded where they come in.
enum Plausible {
    /// Frames of a track: 46 years at 192 kHz. Products with a rate need more than 64 bits all the same.
    static let frames: Int64 = 1 << 48
    /// Ticks of a container's clock, either way: sums and differences of two such numbers always fit.
    static let ticks: Int64 = 1 << 61
    /// Bits per second.
    static let bitRate: Int64 = 1 << 40

    /// `frames`, or the greatest number of them, either way.
    static func boundedFrames(_ frames: Int64) -> Int64 { min(max(frames, -Self.frames), Self.frames) }

    /// `ticks` where they can be a time; `nil` where they cannot.
    static func ticks(_ ticks: Int64) -> Int64? { (-Self.ticks...Self.ticks).contains(ticks) ? ticks : nil }
}

extension Int64 {
    /// The sum, or the greatest or the least number where it does not fit.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// This number times `factor / divisor`, towards zero, or the greatest or the least number where it does not fit.
    func scaledSaturated(by factor: Int, over divisor: Int) -> Int64 {
        Int64(clamping: Int128(self) * Int128(factor) / Int128(Swift.max(1, divisor)))
    }

    /// The nearest number to `value`, or the greatest or the least one; zero for what is no number.
    init(saturating value: Double) {
        guard !value.isNaN else {
            self = 0
            return
        }
        self = value >= 0x1p63 ? .max : value < -0x1p63 ? .min : Int64(value)
    }
}
