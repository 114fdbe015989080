extension MediaTime {
    /// The sum, exact if any time can represent it.
    ///
    /// The timescale is the least common multiple of the two; if that does not fit, the one of the sum in lowest terms.
    /// If that does not fit either, the sum is rounded half away from zero at the finest timescale that can hold it,
    /// and marked as rounded; beyond `Int64` seconds it is an infinity. A rounding mark on either operand stays.
    ///
    /// Non-numeric operands behave as in CMTimeAdd: invalid first, then infinities (two opposite ones give
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

    /// The negated time.
    ///
    /// Exact except for a value of `Int64.min`: its negation does not fit, and the rules of `+` apply.
    public static prefix func - (time: MediaTime) -> MediaTime {
        if time.isNumeric { return time.multiplied(by: -1) }
        if time == .positiveInfinity { return .negativeInfinity }
        return time == .negativeInfinity ? .positiveInfinity : time
    }

    /// Adds `right` to `left`.
    public static func += (left: inout MediaTime, right: MediaTime) { left = left + right }

    /// Subtracts `right` from `left`.
    public static func -= (left: inout MediaTime, right: MediaTime) { left = left - right }

    /// The time multiplied by `factor`, in the same timescale; if the value does not fit, the rules of `+` apply.
    ///
    /// An infinity takes the sign of the product; an infinity times 0 is `invalid`.
    public func multiplied(by factor: Int64) -> MediaTime {
        guard isNumeric else { return multipliedBeyondNumbers(signum: factor.signum()) }
        let (product, overflows) = value.multipliedReportingOverflow(by: factor)
        if !overflows { return MediaTime(value: product, timescale: timescale, hasBeenRounded: hasBeenRounded) }
        let exact = WideFraction(Int128(value) * Int128(factor), over: UInt128(timescale))
        return MediaTime(nearest: exact, hasBeenRounded: hasBeenRounded)
    }

    /// The time multiplied by `factor / divisor`, exact if any time can represent it, else under the rules of `+`.
    ///
    /// Keeps the timescale if the division leaves no remainder, else gives the lowest terms. A divisor of 0 gives an
    /// infinity, or `invalid` if the product with `factor` is 0.
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
        // Each value grows by the factor that the other timescale adds to the common one, below 2^31: the sum stays
        // below 2^95, and the common timescale below 2^62.
        let divisor = WideFraction.commonDivisor(UInt64(left.timescale), UInt64(right.timescale))
        let leftFactor = Int64(right.timescale) / Int64(divisor)
        let rightFactor = Int64(left.timescale) / Int64(divisor) * signOfRight
        let numerator = Int128(left.value) * Int128(leftFactor) + Int128(right.value) * Int128(rightFactor)
        let exact = WideFraction(numerator, over: UInt128(Int64(left.timescale) * leftFactor))
        return MediaTime(nearest: exact, hasBeenRounded: hasBeenRounded)
    }

    /// The sum if at least one of the two is not numeric.
    private static func sumBeyondNumbers(_ left: MediaTime, _ right: MediaTime) -> MediaTime {
        guard left.isValid, right.isValid else { return .invalid }
        switch (left.isInfinite, right.isInfinite) {
        case (true, true): return left == right ? left : .invalid
        case (true, false): return left
        case (false, true): return right
        case (false, false): return .indefinite
        }
    }

    /// The product of a non-numeric time and a factor of which only the sign matters.
    private func multipliedBeyondNumbers(signum: Int64) -> MediaTime {
        guard isInfinite else { return self }
        return signum == 0 ? .invalid : signum > 0 ? self : -self
    }
}
