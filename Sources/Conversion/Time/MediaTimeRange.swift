/// The instants from `start` up to but not including `end`.
///
/// The start is numeric. The end is numeric and not before the start, or positive infinity. The range stores its end
/// and computes its duration, so that two adjacent ranges share an instant exactly.
public struct MediaTimeRange: Sendable, Hashable {
    /// The first instant of the range.
    public let start: MediaTime

    /// The first instant after the range; positive infinity if it is open-ended.
    public let end: MediaTime

    /// Throws if `end` is earlier than `start` or neither numeric nor positive infinity, or if `start` is not numeric.
    public init(start: MediaTime, end: MediaTime) throws(RangeError) {
        guard start.isNumeric else {
            throw RangeError(code: .startNotANumber, detail: "a range must start at a number, not at \(start)")
        }
        guard end.isNumeric || end == .positiveInfinity else {
            throw RangeError(code: .endNotOrdered, detail: "a range must end at a number or +infinity, not at \(end)")
        }
        guard start <= end else {
            throw RangeError(code: .endBeforeStart, detail: "a range cannot start at \(start) and end at \(end)")
        }
        self.init(checkedStart: start, end: end)
    }

    /// The range that begins at `start` and lasts `duration`, which may be positive infinity.
    ///
    /// Throws if the duration is negative, indefinite or invalid, if the end is too late to be a time, or if `start`
    /// is not numeric.
    public init(start: MediaTime, duration: MediaTime) throws(RangeError) {
        guard !duration.isNumeric || duration >= .zero else {
            throw RangeError(code: .endBeforeStart, detail: "a range cannot last \(duration)")
        }
        let end = start + duration
        guard !duration.isNumeric || !end.isInfinite else {
            throw RangeError(code: .endNotOrdered, detail: "\(start) plus \(duration) is too large for a time")
        }
        try self.init(start: start, end: end)
    }

    /// The range from `start` on, without an end. Throws if `start` is not numeric.
    public init(startingAt start: MediaTime) throws(RangeError) {
        try self.init(start: start, end: .positiveInfinity)
    }

    /// Everything from zero on, without an end.
    public static let whole = MediaTimeRange(checkedStart: .zero, end: .positiveInfinity)

    /// The caller has checked what `init(start:end:)` checks.
    init(checkedStart start: MediaTime, end: MediaTime) {
        self.start = start
        self.end = end
    }
}

extension MediaTimeRange {
    /// Why two times do not form a range.
    public struct RangeError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kind of mistake.
        public enum Code: String, Sendable, Hashable {
            /// The start is infinite, indefinite or invalid.
            case startNotANumber
            /// The end is indefinite, invalid, negative infinity, or too late to be a time.
            case endNotOrdered
            /// The end is earlier than the start, or the duration is negative.
            case endBeforeStart
        }

        /// The kind of mistake; callers may branch on it.
        public let code: Code

        /// What is wrong, for the user.
        public let detail: String

        public var description: String { detail }
    }

    /// How long the range lasts: `end - start`, positive infinity if it is open-ended.
    public var duration: MediaTime { end - start }

    /// Whether the range contains no instant.
    public var isEmpty: Bool { start == end }

    /// Whether the range has no end.
    public var isOpenEnded: Bool { end == .positiveInfinity }

    /// Whether `time` lies in the range, which includes its start and excludes its end. False for every infinity.
    public func contains(_ time: MediaTime) -> Bool {
        time.isNumeric && start <= time && time < end
    }

    /// Whether every instant of `other` lies in this range. Every range contains an empty range.
    public func contains(_ other: MediaTimeRange) -> Bool {
        other.isEmpty || (start <= other.start && other.end <= end)
    }

    /// The instants that lie in both ranges; `nil` if there are none. Never an empty range.
    public func intersection(_ other: MediaTimeRange) -> MediaTimeRange? {
        let (start, end) = (max(start, other.start), min(end, other.end))
        return start < end ? MediaTimeRange(checkedStart: start, end: end) : nil
    }

    /// The smallest range that contains both, including the gap between them.
    ///
    /// An empty range adds nothing, wherever it lies: the result is the other one, and of two empty ranges this one.
    public func union(_ other: MediaTimeRange) -> MediaTimeRange {
        if other.isEmpty { return self }
        if isEmpty { return other }
        return MediaTimeRange(checkedStart: min(start, other.start), end: max(end, other.end))
    }
}

extension MediaTimeRange: CustomStringConvertible {
    /// The range as a user writes it: `1:00..<2:30`, or `1:00...` if it is open-ended.
    public var description: String {
        isOpenEnded ? "\(start)..." : "\(start)..<\(end)"
    }
}

extension MediaTimeRange: Codable {
    private enum CodingKeys: String, CodingKey {
        case start, end
    }

    /// Decodes `start` and `end`, both required, and throws where the initializer throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let start = try container.decode(MediaTime.self, forKey: .start)
        let end = try container.decode(MediaTime.self, forKey: .end)
        do throws(RangeError) {
            try self.init(start: start, end: end)
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

    /// Encodes `start` and `end` as lossless times; the end of an open-ended range is `+infinity`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(start, forKey: .start)
        try container.encode(end, forKey: .end)
    }
}
