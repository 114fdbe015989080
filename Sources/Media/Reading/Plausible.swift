/// The largest numbers that are accepted from a file. Later code adds and multiplies such numbers, so they are
/// limited where they enter.
enum Plausible {
    /// Frames of a track: 46 years at 192 kHz. Products with a sample rate still need more than 64 bits.
    static let frames: Int64 = 1 << 48
    /// Ticks of a container's clock, positive or negative: the sum or difference of two
    /// such numbers always fits 64 bits.
    static let ticks: Int64 = 1 << 61
    /// Bits per second.
    static let bitRate: Int64 = 1 << 40

    /// Clamps `frames` to the limit, positive or negative.
    static func boundedFrames(_ frames: Int64) -> Int64 { min(max(frames, -Self.frames), Self.frames) }

    /// `ticks`, or `nil` if they exceed the limit.
    static func ticks(_ ticks: Int64) -> Int64? { (-Self.ticks...Self.ticks).contains(ticks) ? ticks : nil }
}

extension Int64 {
    /// The sum, saturated at the limits of `Int64`.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// The product, at most `Int64.max` and at least `Int64.min`.
    func multipliedSaturated(by other: Int64) -> Int64 { Int64(clamping: Int128(self) * Int128(other)) }

    /// This number times `factor / divisor`, rounded towards zero and saturated at the limits of `Int64`.
    func scaledSaturated(by factor: Int, over divisor: Int) -> Int64 {
        Int64(clamping: Int128(self) * Int128(factor) / Int128(Swift.max(1, divisor)))
    }

    /// Converts `value`, truncating it and saturating at the limits of `Int64`; NaN becomes zero.
    init(saturating value: Double) {
        guard !value.isNaN else {
            self = 0
            return
        }
        self = value >= 0x1p63 ? .max : value < -0x1p63 ? .min : Int64(value)
    }
}
