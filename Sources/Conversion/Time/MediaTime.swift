/// A position or a duration as an exact fraction of seconds: `value / timescale`.
///
/// Modelled on CMTime, without the epoch. A time is numeric, or one of four non-numeric values: an infinity of
/// either sign, `indefinite` (it exists but is not known yet) or `invalid` (no time at all). Only a numeric time has
/// a value and a timescale; in the others both are 0.
///
/// Arithmetic is exact if the result fits, and sets `hasBeenRounded` if it does not. It never traps.
public struct MediaTime: Sendable {
    /// The number of units of `1 / timescale` seconds.
    public let value: Int64

    /// Units per second: positive for a numeric time, 0 for the others.
    public let timescale: Int32

    /// The kind of time, and whether it was ever rounded.
    public let flags: Flags

    /// A number of units of `1 / timescale` seconds; `invalid` if `timescale` is not positive.
    ///
    /// A header can contain 0, so a bad timescale gives `invalid` and not a trap.
    public init(value: Int64, timescale: Int32, hasBeenRounded: Bool = false) {
        guard timescale > 0 else {
            self = .invalid
            return
        }
        self.init(value: value, timescale: timescale, flags: hasBeenRounded ? [.valid, .hasBeenRounded] : .valid)
    }

    /// A count of frames at `rate` frames per second; `invalid` if `rate` is not positive.
    ///
    /// The timescale is the rate. A rate beyond `Int32.max` keeps the instant and is rounded only if it must be.
    public init(frames: Int64, rate: Int) {
        guard rate > 0 else {
            self = .invalid
            return
        }
        self.init(nearest: WideFraction(Int128(frames), over: UInt128(rate)), hasBeenRounded: false)
    }

    private init(value: Int64, timescale: Int32, flags: Flags) {
        self.value = value
        self.timescale = timescale
        self.flags = flags
    }
}

// MARK: - Flags

extension MediaTime {
    /// The kind of a time as bits, with CMTime's values.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits, numbered as in CMTime.
        public let rawValue: UInt8

        /// Accepts any bits. A time carries only those that it was made with.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Set on every time except `invalid`.
        public static let valid = Flags(rawValue: 1 << 0)

        /// Set on a numeric time that is not exactly the requested one, or was computed from such a time.
        public static let hasBeenRounded = Flags(rawValue: 1 << 1)

        /// Set on positive infinity only.
        public static let positiveInfinity = Flags(rawValue: 1 << 2)

        /// Set on negative infinity only.
        public static let negativeInfinity = Flags(rawValue: 1 << 3)

        /// Set on a time that is not known yet.
        public static let indefinite = Flags(rawValue: 1 << 4)

        /// Any of these flags makes a time non-numeric.
        static let notANumber: Flags = [.positiveInfinity, .negativeInfinity, .indefinite]
    }

    /// Zero seconds, with a timescale of 1.
    public static let zero = MediaTime(value: 0, timescale: 1)

    /// No time at all. Every result computed from it is invalid too.
    public static let invalid = MediaTime(value: 0, timescale: 0, flags: [])

    /// A time that exists but is not known yet, such as the length of a live stream.
    public static let indefinite = MediaTime(value: 0, timescale: 0, flags: [.valid, .indefinite])

    /// Later than every numeric time. Also the result of an overflow on the positive side.
    public static let positiveInfinity = MediaTime(value: 0, timescale: 0, flags: [.valid, .positiveInfinity])

    /// Earlier than every numeric time. Also the result of an overflow on the negative side.
    public static let negativeInfinity = MediaTime(value: 0, timescale: 0, flags: [.valid, .negativeInfinity])

    /// The finest timescale. A sum whose own timescale would be finer is rounded to it.
    public static let maximumTimescale = Int32.max

    /// False only for `invalid`: true for numeric times, infinities and `indefinite`.
    public var isValid: Bool { flags.contains(.valid) }

    /// Whether the time is a number, so that `value` and `timescale` have a meaning.
    public var isNumeric: Bool { isValid && flags.isDisjoint(with: .notANumber) }

    /// Whether the time is an infinity of either sign.
    public var isInfinite: Bool { !flags.isDisjoint(with: [.positiveInfinity, .negativeInfinity]) }

    /// Whether the time is not known yet.
    public var isIndefinite: Bool { flags.contains(.indefinite) }

    /// Whether this time, or one it was computed from, is not exactly the requested one.
    ///
    /// Only numeric times are marked: an infinity that results from an overflow is not.
    public var hasBeenRounded: Bool { flags.contains(.hasBeenRounded) }

    /// The time in seconds, for display; NaN if the time is indefinite or invalid.
    ///
    /// Inexact and not for computing: a `Double` cannot represent even a tenth.
    public var seconds: Double {
        if isNumeric { return Double(value) / Double(timescale) }
        if isInfinite { return flags.contains(.positiveInfinity) ? .infinity : -.infinity }
        return .nan
    }
}

extension MediaTime: Codable {
    /// Decodes a string in any form that `init(rationalDescription:)` parses.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do throws(ParsingError) {
            self = try MediaTime(rationalDescription: text)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: error.description,
                    underlyingError: error
                )
            )
        }
    }

    /// Encodes `rationalDescription`: a string, because many readers parse JSON numbers as doubles.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rationalDescription)
    }
}
