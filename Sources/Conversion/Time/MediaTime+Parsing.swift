extension MediaTime {
    /// Why a text is not a time, and which forms are allowed.
    public struct ParsingError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kind of mistake.
        public enum Code: String, Sendable, Hashable {
            /// The text is empty.
            case empty
            /// The text does not have an allowed form.
            case malformed
            /// Minutes or seconds of 60 or more after a higher unit.
            case fieldTooLarge
            /// A fraction whose denominator is 0.
            case zeroTimescale
            /// A well-formed number that no time can represent.
            case outOfRange
        }

        /// The kind of mistake; callers may branch on it.
        public let code: Code

        /// The text, cut after 64 characters.
        public let text: String

        /// What is wrong with it, for the user.
        public let detail: String

        /// The allowed forms, for the user.
        public static let allowedForms =
            "90, 12.25, 90s, 1500ms, 5:00 (m:s), 1:02:03.5 (h:m:s) or 44100/44100 (value/timescale); '-' first if negative"

        /// One line with the mistake and the allowed forms. The text is quoted and escaped.
        public var description: String {
            "\(text.debugDescription) is not a time: \(detail). Allowed: \(Self.allowedForms)"
        }

        init(_ code: Code, _ text: some StringProtocol, _ detail: String) {
            self.code = code
            self.text = String(text.prefix(64))
            self.detail = detail
        }
    }

    /// Parses a time as a user writes it. Nothing else may surround it, not even spaces.
    ///
    /// Seconds (`90`, `12.25`), a unit (`90s`, `1500ms`), `5:00` (m:s), `1:02:03.5` (h:m:s) or `44100/44100`
    /// (value/timescale), with a leading `-` if negative. The highest unit may have any size; those below it end at 59.
    /// Up to nine decimals are exact, at the power of ten that was written; further ones are rounded away and mark the
    /// time. A fraction keeps its timescale, and a trailing `~` marks it as rounded. Words are not accepted.
    public init(parsing text: some StringProtocol) throws(ParsingError) {
        do throws(TextMistake) {
            self = try TimeText(bytes: Array(text.utf8)[...]).time()
        } catch {
            throw ParsingError(error.code, text, error.detail)
        }
    }

    /// Parses what `rationalDescription` returns, words included, and everything that `init(parsing:)` parses.
    public init(rationalDescription text: some StringProtocol) throws(ParsingError) {
        if let time = MediaTime(word: text) {
            self = time
        } else {
            self = try MediaTime(parsing: text)
        }
    }
}

/// A mistake, before the text is attached to it.
private struct TextMistake: Error {
    var code: MediaTime.ParsingError.Code
    var detail: String
}

/// The bytes of a text that should be a time, and the grammar that they must follow.
private struct TimeText {
    typealias Bytes = ArraySlice<UInt8>

    var bytes: Bytes

    func time() throws(TextMistake) -> MediaTime {
        guard !bytes.isEmpty else { throw TextMistake(code: .empty, detail: "the text is empty") }
        let isNegative = bytes.first == UInt8(ascii: "-")
        let magnitude = isNegative ? bytes.dropFirst() : bytes
        if let slash = magnitude.firstIndex(of: UInt8(ascii: "/")) {
            return try Self.rational(magnitude[..<slash], over: magnitude[(slash + 1)...], isNegative: isNegative)
        }
        return try Self.decimal(magnitude, isNegative: isNegative)
    }

    // MARK: Value and timescale

    private static func rational(_ top: Bytes, over bottom: Bytes, isNegative: Bool) throws(TextMistake) -> MediaTime {
        let isMarked = bottom.last == UInt8(ascii: "~")
        let magnitude = try number(top)
        let timescale = try number(isMarked ? bottom.dropLast() : bottom)
        guard timescale != 0 else {
            throw TextMistake(code: .zeroTimescale, detail: "the timescale, after '/', must be at least 1")
        }
        let exact = WideFraction(isNegative: isNegative, numerator: magnitude, denominator: timescale)
        guard let value = exact.value, let timescale = Int32(exactly: timescale) else {
            throw TextMistake(
                code: .outOfRange,
                detail: "the value must fit into 64 bits, and the timescale must be at most \(Int32.max)"
            )
        }
        return MediaTime(value: value, timescale: timescale, hasBeenRounded: isMarked)
    }

    // MARK: Seconds, minutes, hours

    private static func decimal(_ text: Bytes, isNegative: Bool) throws(TextMistake) -> MediaTime {
        let (clock, unitShift) = unit(of: text)
        let fields = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard fields.count <= 3 else {
            throw TextMistake(code: .malformed, detail: "it may have only hours, minutes and seconds")
        }
        guard fields.count == 1 || clock.count == text.count else {
            throw TextMistake(code: .malformed, detail: "a unit cannot be combined with ':'")
        }
        let last = fields[fields.count - 1]
        var (whole, decimals) = (last, Bytes())
        if let point = last.firstIndex(of: UInt8(ascii: ".")) {
            (whole, decimals) = (last[..<point], last[(point + 1)...])
            try requireDigits(decimals)
        }
        try requireDigits(whole)
        if unitShift > 0 {
            let padded = Array(repeating: UInt8(ascii: "0"), count: unitShift) + whole
            (whole, decimals) = (padded.dropLast(unitShift), padded.suffix(unitShift) + decimals)
        }

        var seconds: UInt128 = 0
        for (index, field) in (fields.dropLast() + [whole]).enumerated() {
            let count = try number(field)
            guard index == 0 || count < 60 else {
                throw TextMistake(
                    code: .fieldTooLarge,
                    detail: "minutes and seconds after a ':' must be at most 59"
                )
            }
            guard index == 0 || field.count <= 2 else {
                throw TextMistake(
                    code: .malformed,
                    detail: "minutes and seconds after a ':' must have at most two digits"
                )
            }
            seconds = seconds * 60 + count
        }
        return try time(seconds: seconds, decimals: decimals, isNegative: isNegative)
    }

    /// The text before the unit, and the number of places by which the unit moves the decimal point to the left.
    private static func unit(of text: Bytes) -> (text: Bytes, shift: Int) {
        if text.suffix(2).elementsEqual("ms".utf8) { return (text.dropLast(2), 3) }
        if text.last == UInt8(ascii: "s") { return (text.dropLast(), 0) }
        return (text, 0)
    }

    private static func time(
        seconds: UInt128,
        decimals: Bytes,
        isNegative: Bool
    ) throws(TextMistake) -> MediaTime {
        // A 32-bit timescale can count nine decimal places at most; the tenth decides how the ninth is rounded.
        let kept = decimals.prefix(9)
        let dropped = decimals.dropFirst(9)
        var (numerator, scale) = (seconds, UInt128(1))
        for digit in kept {
            numerator = numerator * 10 + UInt128(digit - UInt8(ascii: "0"))
            scale *= 10
        }
        if let next = dropped.first, next >= UInt8(ascii: "5") { numerator += 1 }
        let isRounded = dropped.contains { $0 != UInt8(ascii: "0") }
        let exact = WideFraction(isNegative: isNegative, numerator: numerator, denominator: scale)
        let time = MediaTime(nearest: exact, hasBeenRounded: isRounded)
        guard time.isNumeric else { throw tooLong }
        return time
    }

    // MARK: Digits

    private static func requireDigits(_ text: Bytes) throws(TextMistake) {
        let isNumber = !text.isEmpty && text.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard isNumber else {
            throw TextMistake(code: .malformed, detail: "digits are missing or mixed with other characters")
        }
    }

    /// Digits as a number of at most 64 bits, the widest that any field needs.
    private static func number(_ text: Bytes) throws(TextMistake) -> UInt128 {
        try requireDigits(text)
        var number: UInt128 = 0
        for digit in text {
            number = number * 10 + UInt128(digit - UInt8(ascii: "0"))
            guard number <= UInt64.max else { throw tooLong }
        }
        return number
    }

    private static let tooLong = TextMistake(code: .outOfRange, detail: "it does not fit into 64 bits")
}
