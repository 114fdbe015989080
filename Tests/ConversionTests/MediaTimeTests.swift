import Conversion
import Testing

@Suite struct MediaTimeTests {
    // MARK: Kinds

    @Test func timescaleThatIsNotPositiveMakesInvalid() {
        #expect(MediaTime(value: 5, timescale: 0) == .invalid)
        #expect(MediaTime(value: 5, timescale: -600) == .invalid)
        #expect(MediaTime(frames: 5, rate: 0) == .invalid)
        #expect(MediaTime(value: 5, timescale: 1).converted(to: 0) == .invalid)
    }

    @Test func onlyNumbersAreNumeric() {
        #expect(MediaTime.zero.isNumeric)
        for time in [MediaTime.positiveInfinity, .negativeInfinity, .indefinite, .invalid] {
            #expect(!time.isNumeric)
            #expect(time.value == 0 && time.timescale == 0)
            #expect(time.converted(to: 600) == time)
            #expect(time.frames(atRate: 600) == nil)
        }
        #expect(MediaTime.indefinite.isValid && MediaTime.indefinite.isIndefinite)
        #expect(!MediaTime.invalid.isValid)
        #expect(MediaTime.positiveInfinity.isInfinite && MediaTime.negativeInfinity.isInfinite)
    }

    @Test func secondsAreForDisplay() {
        #expect(MediaTime(value: -66150, timescale: 44100).seconds == -1.5)
        #expect(MediaTime.negativeInfinity.seconds == -.infinity)
        #expect(MediaTime.indefinite.seconds.isNaN)
    }

    // MARK: Order

    @Test func timesOfEveryKindHaveOneOrder() {
        let ascending: [MediaTime] = [
            .negativeInfinity, MediaTime(value: .min, timescale: 1), MediaTime(value: -1, timescale: .max), .zero,
            MediaTime(value: 1, timescale: 3), MediaTime(value: .max, timescale: 1), .indefinite,
            .positiveInfinity, .invalid,
        ]
        for (leftIndex, left) in ascending.enumerated() {
            for (rightIndex, right) in ascending.enumerated() {
                #expect((left < right) == (leftIndex < rightIndex), "\(left) and \(right)")
                #expect((left == right) == (leftIndex == rightIndex), "\(left) and \(right)")
            }
        }
    }

    @Test func equalityLooksAtTheInstantOnly() {
        let half = MediaTime(value: 1, timescale: 2)
        #expect(half == MediaTime(value: 22050, timescale: 44100, hasBeenRounded: true))
        #expect(Set([half, MediaTime(value: 300, timescale: 600)]).count == 1)
        #expect(MediaTime.zero == MediaTime(value: 0, timescale: 90000))
        #expect(half != MediaTime(value: 1_073_741_824, timescale: .max))
    }

    @Test func comparisonIsATotalOrder() {
        var generator = SeededGenerator(seed: 1)
        var failures = Counterexamples()
        for _ in 0..<250_000 {
            let (first, second, third) = (generator.time(), generator.time(), generator.time())
            let ways = (first < second ? 1 : 0) + (first == second ? 1 : 0) + (second < first ? 1 : 0)
            let isTransitive = !(first < second && second < third) || first < third
            failures.expect(ways == 1 && isTransitive, "\(first) \(second) \(third)")
            if first.isNumeric, second.isNumeric {
                let isLess = Oracle.isLess(first, second)
                failures.expect(isLess == (first < second), "\(first) \(second)")
            }
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func equalTimesHaveEqualHashes() {
        var generator = SeededGenerator(seed: 2)
        var failures = Counterexamples()
        for _ in 0..<100_000 {
            let timescale = Int32(1 + generator.below(100_000))
            let value = generator.integer() >> 16
            let factor = Int32(1 + generator.below(20_000))
            let time = MediaTime(value: value, timescale: timescale)
            let same = MediaTime(value: value * Int64(factor), timescale: timescale * factor, hasBeenRounded: true)
            failures.expect(time == same && time.hashValue == same.hashValue, "\(time) times \(factor)")
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    // MARK: Sums

    @Test func sumTakesTheLeastCommonTimescale() {
        let sum = MediaTime(value: 1, timescale: 44100) + MediaTime(value: 1, timescale: 48000)
        #expect(sum.rationalDescription == "307/7056000")
        #expect((MediaTime(value: 3, timescale: 600) - MediaTime(value: 1, timescale: 200)).timescale == 600)
    }

    @Test func additionOfTimesIsExactWhenTheResultFits() {
        // The common timescale is too large, but the sum in lowest terms fits.
        let one = MediaTime(value: 1_000_000_007, timescale: 1_000_000_007)
        #expect((one + MediaTime(value: 1, timescale: 3)).rationalDescription == "4/3")
        // The value in the common timescale is too large, but in whole seconds it fits.
        let large = MediaTime(value: .max, timescale: 2)
        #expect((large + large).rationalDescription == "9223372036854775807/1")
    }

    @Test func sumThatDoesNotFitIsRoundedOnTheFinestTimescale() {
        let sum = MediaTime(value: 1, timescale: .max - 1) + MediaTime(value: 1, timescale: .max)
        #expect(sum.rationalDescription == "2/2147483647~")
        let late = MediaTime(value: .max, timescale: 1) + MediaTime(value: 1, timescale: 3)
        #expect(late.rationalDescription == "9223372036854775807/1~")
        #expect(MediaTime(value: .max, timescale: 1) + MediaTime(value: 1, timescale: 2) == .positiveInfinity)
        #expect(MediaTime(value: .min, timescale: 1) - MediaTime(value: 1, timescale: 1) == .negativeInfinity)
        #expect(-MediaTime(value: .min, timescale: 1) == .positiveInfinity)
    }

    @Test func markOfRoundingStays() {
        let marked = MediaTime(value: 1, timescale: 3).converted(to: 600, rounding: .towardZero)
        #expect(!marked.hasBeenRounded)
        let third = MediaTime(value: 1, timescale: 3).converted(to: 1000)
        #expect(third.rationalDescription == "333/1000~")
        #expect((third + .zero).hasBeenRounded && (.zero - third).hasBeenRounded && (-third).hasBeenRounded)
        #expect(third.multiplied(by: 3).hasBeenRounded && third.multiplied(by: 1, dividedBy: 3).hasBeenRounded)
        #expect(third.converted(to: 1000).hasBeenRounded && third.converted(to: 2000).hasBeenRounded)
        #expect(third.frames(atRate: 1000)?.isExact == false)
    }

    @Test func whatIsNotANumberPropagates() {
        let second = MediaTime(value: 1, timescale: 1)
        #expect(second + .invalid == .invalid && .positiveInfinity - .invalid == .invalid)
        #expect(second + .positiveInfinity == .positiveInfinity && second - .positiveInfinity == .negativeInfinity)
        #expect(.positiveInfinity + .positiveInfinity == MediaTime.positiveInfinity)
        #expect(.positiveInfinity + .negativeInfinity == MediaTime.invalid)
        #expect(.positiveInfinity - .positiveInfinity == MediaTime.invalid)
        #expect(.negativeInfinity - .positiveInfinity == MediaTime.negativeInfinity)
        #expect(.indefinite + .negativeInfinity == MediaTime.negativeInfinity)
        #expect(second - .indefinite == .indefinite && .indefinite + .indefinite == MediaTime.indefinite)
        #expect(-MediaTime.indefinite == .indefinite && -MediaTime.invalid == .invalid)
    }

    @Test func sumsAreTheBestRepresentable() {
        var generator = SeededGenerator(seed: 3)
        var failures = Counterexamples()
        for _ in 0..<50_000 {
            let (left, right) = (generator.number(), generator.number())
            let (leftPart, rightPart) = (Int128(left.value), Int128(right.value))
            let crossed = leftPart * Int128(right.timescale)
            let other = rightPart * Int128(left.timescale)
            let scale = UInt128(Int64(left.timescale) * Int64(right.timescale))
            let (sum, difference) = (left + right, left - right)
            let holds = Oracle.isBest(sum, crossed + other, scale) && Oracle.isBest(difference, crossed - other, scale)
            failures.expect(holds, "\(left.rationalDescription) \(right.rationalDescription)")
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func additionCommutes() {
        var generator = SeededGenerator(seed: 4)
        var failures = Counterexamples()
        for _ in 0..<50_000 {
            let (left, right) = (generator.time(), generator.time())
            failures.expect(Oracle.areIdentical(left + right, right + left), "\(left) \(right)")
            let (difference, opposite) = (left - right, right - left)
            // Int64.min is the only value without an opposite.
            guard difference.value != .min, opposite.value != .min else { continue }
            failures.expect(Oracle.areIdentical(difference, -opposite), "\(left) \(right)")
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func additionIsAssociativeWhenExact() {
        var generator = SeededGenerator(seed: 5)
        var failures = Counterexamples()
        var exactCases = 0
        for _ in 0..<100_000 {
            let first = generator.ordinaryNumber()
            let second = generator.ordinaryNumber()
            let third = generator.ordinaryNumber()
            let (fromLeft, fromRight) = ((first + second) + third, first + (second + third))
            guard !fromLeft.hasBeenRounded, !fromRight.hasBeenRounded else { continue }
            exactCases += 1
            failures.expect(fromLeft == fromRight && fromLeft - third - second == first, "\(first) \(second) \(third)")
        }
        #expect(failures.count == 0, "\(failures.first)")
        #expect(exactCases > 90_000)
    }
}

// MARK: - Products

@Suite struct MediaTimeProductTests {
    @Test func productKeepsTheTimescale() {
        #expect(MediaTime(value: 7, timescale: 600).multiplied(by: -3).rationalDescription == "-21/600")
        #expect(MediaTime(value: 6, timescale: 600).multiplied(by: 1, dividedBy: -2).rationalDescription == "-3/600")
        #expect(MediaTime(value: 1, timescale: 600).multiplied(by: 2, dividedBy: 3).rationalDescription == "1/900")
    }

    @Test func productOfWhatIsNotANumberFollowsTheSigns() {
        #expect(MediaTime.positiveInfinity.multiplied(by: -2) == .negativeInfinity)
        #expect(MediaTime.negativeInfinity.multiplied(by: -2, dividedBy: 3) == .positiveInfinity)
        #expect(MediaTime.positiveInfinity.multiplied(by: 0) == .invalid)
        #expect(MediaTime.indefinite.multiplied(by: 0) == .indefinite)
        #expect(MediaTime.invalid.multiplied(by: 2, dividedBy: 3) == .invalid)
    }

    @Test func divisionByZeroIsAnInfinityOrInvalid() {
        let second = MediaTime(value: 1, timescale: 1)
        #expect(second.multiplied(by: 1, dividedBy: 0) == .positiveInfinity)
        #expect(second.multiplied(by: -1, dividedBy: 0) == .negativeInfinity)
        #expect(second.multiplied(by: 0, dividedBy: 0) == .invalid)
        #expect(MediaTime.zero.multiplied(by: 1, dividedBy: 0) == .invalid)
    }

    @Test func productsAreTheBestRepresentable() {
        var generator = SeededGenerator(seed: 6)
        var failures = Counterexamples()
        for _ in 0..<50_000 {
            let (time, factor, divisor) = (generator.number(), generator.integer(), generator.integer())
            let product = Int128(time.value) * Int128(factor)
            let scale = UInt128(time.timescale)
            failures.expect(
                Oracle.isBest(time.multiplied(by: factor), product, scale),
                "\(time.rationalDescription) * \(factor)"
            )
            guard divisor != 0 else { continue }
            let quotient = time.multiplied(by: factor, dividedBy: divisor)
            failures.expect(
                Oracle.isBest(quotient, divisor < 0 ? -product : product, scale * UInt128(divisor.magnitude)),
                "\(time.rationalDescription) * \(factor) / \(divisor)"
            )
        }
        #expect(failures.count == 0, "\(failures.first)")
    }
}

// MARK: - Conversion

@Suite struct MediaTimeConversionTests {
    @Test(arguments: [
        (RoundingMethod.halfAwayFromZero, [3, 2, 1, -1, -2, -3] as [Int64]),
        (.towardZero, [2, 1, 0, 0, -1, -2]),
        (.awayFromZero, [3, 2, 1, -1, -2, -3]),
        (.quickTime, [2, 1, 0, -1, -1, -2]),
        (.towardPositiveInfinity, [3, 2, 1, 0, -1, -2]),
        (.towardNegativeInfinity, [2, 1, 0, -1, -2, -3]),
    ])
    func halvesGoWhereTheMethodSays(method: RoundingMethod, expected: [Int64]) {
        let halves: [Int64] = [5, 3, 1, -1, -3, -5]
        let rounded = halves.map { MediaTime(value: $0, timescale: 2).converted(to: 1, rounding: method).value }
        #expect(rounded == expected)
    }

    @Test func quickTimeRoundsAwayFromZeroOntoAFinerTimescale() {
        let third = MediaTime(value: 1, timescale: 3)
        #expect(third.converted(to: 10, rounding: .quickTime).rationalDescription == "4/10~")
        #expect((-third).converted(to: 10, rounding: .quickTime).rationalDescription == "-4/10~")
        #expect(third.converted(to: 2, rounding: .quickTime).rationalDescription == "0/2~")
        #expect((-third).converted(to: 2, rounding: .quickTime).rationalDescription == "-1/2~")
    }

    @Test func conversionBeyondInt64IsAnInfinity() {
        #expect(MediaTime(value: .max, timescale: 1).converted(to: 2) == .positiveInfinity)
        #expect(MediaTime(value: .min, timescale: 1).converted(to: 2) == .negativeInfinity)
        #expect(MediaTime(value: .min, timescale: 2).converted(to: 2).value == .min)
    }

    @Test func conversionErrsByLessThanAUnitInTheRightDirection() {
        var generator = SeededGenerator(seed: 7)
        var failures = Counterexamples()
        let methods = RoundingMethod.allCases
        var numbers = 0
        for round in 0..<350_000 {
            let (time, timescale) = (generator.number(), generator.timescale())
            let method = methods[round % methods.count]
            let converted = time.converted(to: timescale, rounding: method)
            // Both sides in units of 1 / (old scale * new scale) seconds.
            let wanted = Int128(time.value) * Int128(timescale)
            let unit = Int128(time.timescale)
            let holds: Bool
            if converted.isNumeric {
                numbers += 1
                let error = Int128(converted.value) * unit - wanted
                holds =
                    converted.timescale == timescale && converted.hasBeenRounded == (error != 0)
                    && Oracle.isAllowed(error, of: wanted, unit: unit, isFiner: timescale > time.timescale, method)
            } else {
                holds = wanted > 0 ? wanted > Int128(Int64.max) * unit : wanted < Int128(Int64.min) * unit
            }
            failures.expect(holds, "\(time.rationalDescription) to \(timescale) \(method)")
        }
        #expect(failures.count == 0, "\(failures.first)")
        #expect(numbers > 175_000)
    }

    // MARK: Frames

    @Test func framesKeepTheirNumberAtTheirRate() {
        var generator = SeededGenerator(seed: 8)
        var failures = Counterexamples()
        for _ in 0..<150_000 {
            let (frame, rate) = (generator.integer(), Int(generator.timescale()))
            let position = MediaTime(frames: frame, rate: rate).frames(atRate: rate)
            failures.expect(position?.frames == frame && position?.isExact == true, "\(frame) at \(rate)")
        }
        #expect(failures.count == 0, "\(failures.first)")
    }

    @Test func timeBetweenTwoFramesIsNotExact() throws {
        let time = MediaTime(value: 1, timescale: 1000)
        let position = try #require(time.frames(atRate: 44100))
        #expect(position.frames == 44 && !position.isExact)
        #expect(time.frames(atRate: 44100, rounding: .awayFromZero)?.frames == 45)
        #expect(time.frames(atRate: 48000)?.isExact == true)
        #expect(time.frames(atRate: 0) == nil)
        #expect(MediaTime(value: .max, timescale: 1).frames(atRate: .max) == nil)
    }

    @Test func rateBeyondTheLargestTimescaleKeepsTheInstant() {
        #expect(MediaTime(frames: 10_000_000_000, rate: 5_000_000_000).rationalDescription == "2/1")
        let tiny = MediaTime(frames: 1, rate: .max)
        #expect(tiny == .zero && tiny.hasBeenRounded)
    }
}

// MARK: - Oracle

/// The expected results, computed by a different method than the code under test: no common timescale, no halving.
private enum Oracle {
    static func areIdentical(_ left: MediaTime, _ right: MediaTime) -> Bool {
        left.value == right.value && left.timescale == right.timescale && left.flags == right.flags
    }

    /// Compares whole seconds first, then the remainders.
    static func isLess(_ left: MediaTime, _ right: MediaTime) -> Bool {
        let (leftSeconds, leftRest) = floorDivision(left)
        let (rightSeconds, rightRest) = floorDivision(right)
        guard leftSeconds == rightSeconds else { return leftSeconds < rightSeconds }
        return leftRest * Int64(right.timescale) < rightRest * Int64(left.timescale)
    }

    private static func floorDivision(_ time: MediaTime) -> (quotient: Int64, rest: Int64) {
        let scale = Int64(time.timescale)
        let (quotient, rest) = time.value.quotientAndRemainder(dividingBy: scale)
        return rest < 0 ? (quotient - 1, rest + scale) : (quotient, rest)
    }

    /// Whether a conversion may deviate by `error` from `wanted`. Both are in fractions of the new unit, which has
    /// `unit` of them.
    static func isAllowed(
        _ error: Int128,
        of wanted: Int128,
        unit: Int128,
        isFiner: Bool,
        _ method: RoundingMethod
    ) -> Bool {
        guard error.magnitude < unit.magnitude else { return false }
        if error == 0 { return true }
        let movedAway = (error > 0) == (wanted > 0)
        return switch method {
        case .halfAwayFromZero: movedAway ? 2 * error.magnitude <= unit : 2 * error.magnitude < unit
        case .towardZero: !movedAway
        case .awayFromZero: movedAway
        case .quickTime: movedAway == (isFiner || (wanted < 0 && wanted > -unit))
        case .towardPositiveInfinity: error > 0
        case .towardNegativeInfinity: error < 0
        }
    }

    /// Whether `time` is the correct result for `numerator / denominator` seconds.
    ///
    /// An exact result must not be marked as rounded. A rounded result is correct only if no exact one exists, if
    /// it has the finest timescale that holds the value, and if the error is at most half a unit. Products have
    /// 256 bits, so no input is too large.
    static func isBest(_ time: MediaTime, _ numerator: Int128, _ denominator: UInt128) -> Bool {
        let magnitude = numerator.magnitude
        let limit = UInt128(numerator < 0 ? Int64.min.magnitude : Int64.max.magnitude)
        // Twice the smallest magnitude that does not fit after rounding: limit + 1/2 rounds away from zero.
        let beyond = (2 * limit + 1).multipliedFullWidth(by: denominator)
        func overflows(at timescale: UInt128) -> Bool {
            !isLess((2 * magnitude).multipliedFullWidth(by: timescale), beyond)
        }
        guard time.isNumeric else {
            return overflows(at: 1) && time == (numerator < 0 ? .negativeInfinity : .positiveInfinity)
        }
        let timescale = UInt128(time.timescale)
        let reached = UInt128(time.value.magnitude).multipliedFullWidth(by: denominator)
        let wanted = magnitude.multipliedFullWidth(by: timescale)
        guard time.value == 0 || (time.value < 0) == (numerator < 0) else { return false }
        if reached == wanted { return !time.hasBeenRounded }

        let error = isLess(reached, wanted) ? difference(wanted, reached) : difference(reached, wanted)
        let divisor = commonDivisor(magnitude, denominator)
        let fitsExactly = magnitude / divisor <= limit && denominator / divisor <= UInt128(Int32.max)
        return time.hasBeenRounded && !fitsExactly && error.high == 0 && error.low <= denominator / 2
            && (time.timescale == .max || overflows(at: timescale + 1))
    }

    private typealias Wide = (high: UInt128, low: UInt128)

    private static func isLess(_ left: Wide, _ right: Wide) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    private static func difference(_ larger: Wide, _ smaller: Wide) -> Wide {
        let (low, borrows) = larger.low.subtractingReportingOverflow(smaller.low)
        return (larger.high - smaller.high - (borrows ? 1 : 0), low)
    }

    private static func commonDivisor(_ first: UInt128, _ second: UInt128) -> UInt128 {
        var (larger, smaller) = (first, second)
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return larger
    }
}
