extension MediaTime: Hashable {
    /// Whether two times are the same instant.
    ///
    /// Numeric times are equal if their fractions are: 1/2 and 2/4 are equal and have the same hash. The timescale
    /// and `hasBeenRounded` do not count; compare `rationalDescription` if they should. Each of the four non-numeric
    /// times equals only itself, `invalid` included.
    public static func == (left: MediaTime, right: MediaTime) -> Bool {
        let rank = left.rank
        guard rank == right.rank else { return false }
        return rank != .number || left.comparison(with: right) == 0
    }

    /// Hashes what equality compares: the rank and, for a numeric time, the fraction in lowest terms.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rank)
        guard isNumeric else { return }
        let scale = UInt64(timescale)
        let divisor = WideFraction.commonDivisor(value.magnitude, scale)
        hasher.combine(value / Int64(divisor))
        hasher.combine(scale / divisor)
    }
}

extension MediaTime: Comparable {
    /// Whether `left` comes before `right` in the order of CMTimeCompare.
    ///
    /// A strict total order, consistent with `==`, so anything sorts:
    /// negative infinity < every number < indefinite < positive infinity < invalid.
    public static func < (left: MediaTime, right: MediaTime) -> Bool {
        let (leftRank, rightRank) = (left.rank, right.rank)
        guard leftRank == .number, rightRank == .number else { return leftRank.rawValue < rightRank.rawValue }
        return left.comparison(with: right) < 0
    }

    /// The order of the kinds of time, first to last.
    private enum Rank: UInt8 {
        case negativeInfinity, number, indefinite, positiveInfinity, invalid
    }

    private var rank: Rank {
        if isNumeric { return .number }
        if !isValid { return .invalid }
        if isIndefinite { return .indefinite }
        return flags.contains(.positiveInfinity) ? .positiveInfinity : .negativeInfinity
    }

    /// The sign of `self - other`, for two numeric times.
    private func comparison(with other: MediaTime) -> Int {
        if timescale == other.timescale {
            return value == other.value ? 0 : value < other.value ? -1 : 1
        }
        // 63 bits times 31 bits: the products stay below 2^94.
        let left = Int128(value) * Int128(other.timescale)
        let right = Int128(other.value) * Int128(timescale)
        return left == right ? 0 : left < right ? -1 : 1
    }
}
