/// How to round an instant that lies between two units of a timescale.
public enum RoundingMethod: String, Sendable, Hashable, Codable, CaseIterable {
    /// To the nearer unit, and halfway to the one farther from zero. The default.
    case halfAwayFromZero

    /// To the unit nearer to zero.
    case towardZero

    /// To the unit farther from zero.
    case awayFromZero

    /// Toward zero onto a coarser timescale, away from zero onto a finer one.
    ///
    /// A negative time never becomes 0: it becomes -1 unit.
    case quickTime

    /// To the later unit.
    case towardPositiveInfinity

    /// To the earlier unit.
    case towardNegativeInfinity
}

/// The position of a time in the frames of a stream.
public struct FramePosition: Sendable, Hashable {
    /// The number of the frame, counted from the frame that starts at time zero.
    public let frames: Int64

    /// Whether the time is exactly that of this frame.
    ///
    /// False if the time lay between two frames, and also if it had been rounded before.
    public let isExact: Bool
}

extension MediaTime {
    /// The same instant in units of `1 / timescale` seconds, rounded if it lies between two of them.
    ///
    /// Marked as rounded if this conversion or an earlier one rounded it. A value beyond `Int64` becomes an
    /// infinity, a timescale that is not positive gives `invalid`, and a non-numeric time stays what it is.
    public func converted(to timescale: Int32, rounding: RoundingMethod = .halfAwayFromZero) -> MediaTime {
        guard isNumeric else { return self }
        guard timescale > 0 else { return .invalid }
        guard timescale != self.timescale else { return self }
        guard let rounded = fraction.value(atScale: UInt128(timescale), rounding: rounding) else {
            return value < 0 ? .negativeInfinity : .positiveInfinity
        }
        return MediaTime(
            value: rounded.value,
            timescale: timescale,
            hasBeenRounded: hasBeenRounded || !rounded.isExact
        )
    }

    /// The frame that starts at this time at `rate` frames per second, rounded if the time lies between two.
    ///
    /// `nil` if the time is not numeric, the rate is not positive, or the count is beyond `Int64`.
    public func frames(atRate rate: Int, rounding: RoundingMethod = .halfAwayFromZero) -> FramePosition? {
        guard isNumeric, rate > 0, let rounded = fraction.value(atScale: UInt128(rate), rounding: rounding) else {
            return nil
        }
        return FramePosition(frames: rounded.value, isExact: rounded.isExact && !hasBeenRounded)
    }

    /// The time with its own timescale as the denominator.
    private var fraction: WideFraction { WideFraction(Int128(value), over: UInt128(timescale)) }
}
