/// An exact result before it is fitted into a `MediaTime`: a sign and two 128-bit magnitudes.
///
/// The caller keeps the numerator within 2^126 and the denominator within 2^94, the bounds of the widest operation
/// (a time multiplied by a ratio of two `Int64`). Within these bounds nothing here can overflow.
struct WideFraction {
    var isNegative: Bool
    var numerator: UInt128
    var denominator: UInt128

    init(isNegative: Bool, numerator: UInt128, denominator: UInt128) {
        self.isNegative = isNegative
        self.numerator = numerator
        self.denominator = denominator
    }

    init(_ numerator: Int128, over denominator: UInt128) {
        self.init(isNegative: numerator < 0, numerator: numerator.magnitude, denominator: denominator)
    }

    /// The same fraction without a common divisor.
    var inLowestTerms: WideFraction {
        let divisor = Self.commonDivisor(numerator, denominator)
        return WideFraction(
            isNegative: isNegative,
            numerator: numerator / divisor,
            denominator: denominator / divisor
        )
    }

    /// The numerator as the value of a time; `nil` if it does not fit.
    var value: Int64? { Self.value(numerator, isNegative: isNegative) }

    /// The fraction in units of `1 / scale`, and whether that is exact; `nil` if the value does not fit.
    ///
    /// The denominator counts as the timescale that the time comes from, which only `quickTime` rounding needs.
    func value(atScale scale: UInt128, rounding: RoundingMethod) -> (value: Int64, isExact: Bool)? {
        let (whole, rest) = numerator.quotientAndRemainder(dividingBy: denominator)
        guard whole <= Int64.min.magnitude else { return nil }
        // whole * scale < 2^64 * 2^63. rest < denominator, and the caller has either a denominator below 2^31
        // (frames at any rate) or a scale below 2^31 (any fraction at a timescale): at most 2^125.
        let (scaledRest, remainder) = (rest * scale).quotientAndRemainder(dividingBy: denominator)
        var magnitude = whole * scale + scaledRest
        if remainder != 0 {
            let movesAway =
                switch rounding {
                case .halfAwayFromZero: remainder >= denominator - remainder
                case .towardZero: false
                case .awayFromZero: true
                case .quickTime: scale > denominator || (isNegative && magnitude == 0)
                case .towardPositiveInfinity: !isNegative
                case .towardNegativeInfinity: isNegative
                }
            if movesAway { magnitude += 1 }
        }
        guard let value = Self.value(magnitude, isNegative: isNegative) else { return nil }
        return (value, remainder == 0)
    }

    /// The greatest common divisor; the other number if one of them is 0.
    static func commonDivisor<Number: UnsignedInteger>(_ first: Number, _ second: Number) -> Number {
        var (larger, smaller) = (first, second)
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return larger
    }

    private static func value(_ magnitude: UInt128, isNegative: Bool) -> Int64? {
        guard isNegative else { return Int64(exactly: magnitude) }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return Int64(truncatingIfNeeded: 0 &- UInt64(magnitude))
    }
}

extension MediaTime {
    /// The time equal to `exact`, or else the nearest one at the finest timescale that can hold it.
    ///
    /// In order of preference: unchanged; in lowest terms; rounded half away from zero at `maximumTimescale` or the
    /// largest timescale at which the value still fits; an infinity.
    init(nearest exact: WideFraction, hasBeenRounded: Bool) {
        if let value = exact.value, let timescale = Int32(exactly: exact.denominator) {
            self.init(value: value, timescale: timescale, hasBeenRounded: hasBeenRounded)
            return
        }
        let lowest = exact.inLowestTerms
        if let value = lowest.value, let timescale = Int32(exactly: lowest.denominator) {
            self.init(value: value, timescale: timescale, hasBeenRounded: hasBeenRounded)
            return
        }
        guard let timescale = Self.finestTimescale(holding: lowest),
            let rounded = lowest.value(atScale: UInt128(timescale), rounding: .halfAwayFromZero)
        else {
            self = exact.isNegative ? .negativeInfinity : .positiveInfinity
            return
        }
        self.init(value: rounded.value, timescale: timescale, hasBeenRounded: true)
    }

    /// The largest timescale at which `exact`, once rounded, still fits a value; `nil` if there is none.
    private static func finestTimescale(holding exact: WideFraction) -> Int32? {
        func holds(_ timescale: Int32) -> Bool {
            exact.value(atScale: UInt128(timescale), rounding: .halfAwayFromZero) != nil
        }
        if holds(maximumTimescale) { return maximumTimescale }
        guard holds(1) else { return nil }
        // The rounded value grows with the timescale, so bisection finds the last one that fits.
        var (holding, failing) = (Int32(1), maximumTimescale)
        while failing - holding > 1 {
            let middle = holding + (failing - holding) / 2
            if holds(middle) { holding = middle } else { failing = middle }
        }
        return holding
    }
}
