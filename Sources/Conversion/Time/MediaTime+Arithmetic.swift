extension MediaTime {
    /// The sum, exact if any time can hold it.
    ///
    /// The timescale is the least common multiple of the two; if that does not fit, the lowest terms of the sum.
    /// If those do not fit either, the sum is rounded half away from zero on the finest timescale that can hold it
    /// and marked; beyond `Int64` seconds it is an infinity. The mark of either operand stays.
    ///
    /// What is not a number goes through as in CMTimeAdd: invalid first, then infinities (two opposite ones make
    /// `invalid`), then indefinite.
    public static func + (left: MediaTime, right: MediaTime) -> MediaTime {
        guard left.isNumeric, right.isNumeric else { return sumBeyondNumbers(left, right) }
        return sum(left, right, signOfRight: 1)
    }

    /// The difference, under the rules of `+`.
    public static func - (left: MediaTime, right: MediaTime) -> MediaTime {
        guard left.isNumeric, right.isNumeric else { return sumBeyondNumbers(left, -right) }
        return sum(left, right, signOfRight: -1)
    }

    /// The same distance from zero on the other side.
    ///
    /// Exact but for a value of `Int64.min`, whose opposite does not fit and is made to by the rules of `+`.
    public static prefix func - (time: MediaTime) -> MediaTime {
        if time.isNumeric { return time.multiplied(by: -1) }
        if time == .positiveInfinity { return .negativeInfinity }
        return time == .negativeInfinity ? .positiveInfinity : time
    }

    /// Adds `right` to `left`.
    public static func += (left: inout MediaTime, right: MediaTime) { left = left + right }

    /// Subtracts `right` from `left`.
    public static func -= (left: inout MediaTime, right: MediaTime) { left = left - right }

    /// The time taken `factor` times, in the same timescale, made to fit by the rules of `+`.
    ///
    /// An infinity keeps or changes its sign with the factor, and times 0 is `invalid`.
    public func multiplied(by factor: Int64) -> MediaTime {
        guard isNumeric else { return multipliedBeyondNumbers(signum: factor.signum()) }
        let (product, overflows) = value.multipliedReportingOverflow(by: factor)
        if !overflows { return MediaTime(value: product, timescale: timescale, hasBeenRounded: hasBeenRounded) }
        let exact = WideFraction(Int128(value) * Int128(factor), over: UInt128(timescale))
        return MediaTime(nearest: exact, hasBeenRounded: hasBeenRounded)
    }

    /// The time multiplied by `factor / divisor`, exact if any time can hold it, else by the rules of `+`.
    ///
    /// Keeps the timescale where the division leaves no rest, and otherwise gives the lowest terms. A divisor of 0
    /// gives an infinity, or `invalid` if there was nothing to divide.
    public func multiplied(by factor: Int64, dividedBy divisor: Int64) -> MediaTime {
        let sign = factor.signum() * (divisor < 0 ? -1 : 1)
        guard isNumeric else {
            return divisor == 0 && factor == 0 ? .invalid : multipliedBeyondNumbers(signum: sign)
        }
        // At most 2^63 * 2^63, and 2^31 * 2^63.
        let product = Int128(value) * Int128(factor)
        guard divisor != 0 else {
            return product == 0 ? .invalid : product < 0 ? .negativeInfinity : .positiveInfinity
        }
        let isNegative = (product < 0) != (divisor < 0)
        let (quotient, remainder) = product.magnitude.quotientAndRemainder(dividingBy: UInt128(divisor.magnitude))
        var exact = WideFraction(isNegative: isNegative, numerator: quotient, denominator: UInt128(timescale))
        if remainder != 0 {
            exact.numerator = product.magnitude
            exact.denominator *= UInt128(divisor.magnitude)
            exact = exact.inLowestTerms
        }
        return MediaTime(nearest: exact, hasBeenRounded: hasBeenRounded)
    }
}

// MARK: - The rules behind the operators

extension MediaTime {
    private static func sum(_ left: MediaTime, _ right: MediaTime, signOfRight: Int64) -> MediaTime {
        let hasBeenRounded = left.hasBeenRounded || right.hasBeenRounded
        if left.timescale == right.timescale {
            let (value, overflows) =
                signOfRight > 0
                ? left.value.addingReportingOverflow(right.value)
                : left.value.subtractingReportingOverflow(right.value)
            if !overflows {
                return MediaTime(value: value, timescale: left.timescale, hasBeenRounded: hasBeenRounded)
            }
        }
        // Each value grows by the factor the other timescale adds to the common one, below 2^31: the sum stays
        // below 2^95, and the common timescale below 2^62.
        let divisor = WideFraction.commonDivisor(UInt64(left.timescale), UInt64(right.timescale))
        let leftFactor = Int64(right.timescale) / Int64(divisor)
        let rightFactor = Int64(left.timescale) / Int64(divisor) * signOfRight
        let numerator = Int128(left.value) * Int128(leftFactor) + Int128(right.value) * Int128(rightFactor)
        let exact = WideFraction(numerator, over: UInt128(Int64(left.timescale) * leftFactor))
        return MediaTime(nearest: exact, hasBeenRounded: hasBeenRounded)
    }

    /// The sum when at least one of the two is not a number.
    private static func sumBeyondNumbers(_ left: MediaTime, _ right: MediaTime) -> MediaTime {
        guard left.isValid, right.isValid else { return .invalid }
        switch (left.isInfinite, right.isInfinite) {
        case (true, true): return left == right ? left : .invalid
        case (true, false): return left
        case (false, true): return right
        case (false, false): return .indefinite
        }
    }

    /// The product of what is not a number with a factor of which only the sign counts.
    private func multipliedBeyondNumbers(signum: Int64) -> MediaTime {
        guard isInfinite else { return self }
        return signum == 0 ? .invalid : signum > 0 ? self : -self
    }
}
