/// A position or a duration as an exact fraction of seconds: `value / timescale`.
///
/// Modelled on CMTime, without the epoch. A time is a number, or one of four things that are not: an infinity of
/// either sign, `indefinite` (known to exist, not known yet) or `invalid` (nothing was said). Only a number has a
/// value and a timescale; the others carry 0 for both.
///
/// Arithmetic is exact whenever the result fits and says `hasBeenRounded` when it did not. It never traps.
public struct MediaTime: Sendable {
    /// How many units of `1 / timescale` seconds this is.
    public let value: Int64

    /// How many units make a second: positive for a number, 0 for anything else.
    public let timescale: Int32

    /// What kind of time this is, and whether it was ever rounded.
    public let flags: Flags

    /// A number of units of `1 / timescale` seconds; `invalid` if `timescale` is not positive.
    ///
    /// A header may say 0, so a bad timescale is an answer here and not a trap.
    public init(value: Int64, timescale: Int32, hasBeenRounded: Bool = false) {
        guard timescale > 0 else {
            self = .invalid
            return
        }
        self.init(value: value, timescale: timescale, flags: hasBeenRounded ? [.valid, .hasBeenRounded] : .valid)
    }

    /// A count of frames at `rate` frames per second; `invalid` if `rate` is not positive.
    ///
    /// The timescale is the rate. A rate beyond `Int32.max` keeps the instant, rounded only if it must be.
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
    /// The kind of a time as bits, with the values CMTime gives them.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits, as CMTime numbers them.
        public let rawValue: UInt8

        /// Any bits. A time only ever carries those it was made with.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Set on every time but `invalid`.
        public static let valid = Flags(rawValue: 1 << 0)

        /// Set on a number that is not exactly what was asked for, or was computed from one that is not.
        public static let hasBeenRounded = Flags(rawValue: 1 << 1)

        /// Set on positive infinity only.
        public static let positiveInfinity = Flags(rawValue: 1 << 2)

        /// Set on negative infinity only.
        public static let negativeInfinity = Flags(rawValue: 1 << 3)

        /// Set on a time that is not known yet.
        public static let indefinite = Flags(rawValue: 1 << 4)

        /// The flags of which any one says that a time is not a number.
        static let notANumber: Flags = [.positiveInfinity, .negativeInfinity, .indefinite]
    }

    /// Zero seconds, in whole seconds.
    public static let zero = MediaTime(value: 0, timescale: 1)

    /// No time at all. Whatever is computed from it is invalid too.
    public static let invalid = MediaTime(value: 0, timescale: 0, flags: [])

    /// A time that exists and is not known yet, such as the length of a live stream.
    public static let indefinite = MediaTime(value: 0, timescale: 0, flags: [.valid, .indefinite])

    /// Later than every number. Also what a result too large for any timescale becomes.
    public static let positiveInfinity = MediaTime(value: 0, timescale: 0, flags: [.valid, .positiveInfinity])

    /// Earlier than every number. Also what a result too small for any timescale becomes.
    public static let negativeInfinity = MediaTime(value: 0, timescale: 0, flags: [.valid, .negativeInfinity])

    /// The finest timescale there is, and the one a sum is rounded to when its own would be finer.
    public static let maximumTimescale = Int32.max

    /// Whether anything was said at all: true for numbers, infinities and `indefinite`.
    public var isValid: Bool { flags.contains(.valid) }

    /// Whether this is a number, so that `value` and `timescale` mean something.
    public var isNumeric: Bool { isValid && flags.isDisjoint(with: .notANumber) }

    /// Whether this is an infinity of either sign.
    public var isInfinite: Bool { !flags.isDisjoint(with: [.positiveInfinity, .negativeInfinity]) }

    /// Whether this time is not known yet.
    public var isIndefinite: Bool { flags.contains(.indefinite) }

    /// Whether this number, or one it was computed from, is not exactly what was asked for.
    ///
    /// Only numbers are marked: an infinity that came from an overflow is not.
    public var hasBeenRounded: Bool { flags.contains(.hasBeenRounded) }

    /// The time in seconds for a person to look at; not a number if this is indefinite or invalid.
    ///
    /// Not exact and not for computing: a `Double` cannot even hold a tenth.
    public var seconds: Double {
        if isNumeric { return Double(value) / Double(timescale) }
        if isInfinite { return flags.contains(.positiveInfinity) ? .infinity : -.infinity }
        return .nan
    }
}
