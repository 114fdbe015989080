extension MediaTime {
    /// Why a text is not a time, and what would be.
    public struct ParsingError: Error, Sendable, Hashable, CustomStringConvertible {
        /// What kind of mistake it was.
        public enum Code: String, Sendable, Hashable {
            /// There was nothing to read.
            case empty
            /// None of the allowed forms.
            case malformed
            /// Minutes or seconds of 60 or more below a higher unit.
            case fieldTooLarge
            /// A fraction over 0.
            case zeroTimescale
            /// A well-formed number that no time can hold.
            case outOfRange
        }

        /// What kind of mistake it is, for callers to branch on.
        public let code: Code

        /// What was read, cut after 64 characters.
        public let text: String

        /// What is wrong with it, for a person.
        public let detail: String

        /// The forms that are read, for a person.
        public static let allowedForms =
            "90, 12.25, 90s, 1500ms, 5:00 (m:s), 1:02:03.5 (h:m:s) or 44100/44100 (value/timescale); '-' first if negative"

        /// One line that names the mistake and lists what is allowed. The text is quoted and escaped.
        public var description: String {
            "\(text.debugDescription) is not a time: \(detail). Allowed: \(Self.allowedForms)"
        }

        init(_ code: Code, _ text: some StringProtocol, _ detail: String) {
            self.code = code
            self.text = String(text.prefix(64))
            self.detail = detail
        }
    }

    /// Reads a time as people write it; nothing but the time, spaces included.
    ///
    /// Seconds (`90`, `12.25`), a unit (`90s`, `1500ms`), `5:00` (m:s), `1:02:03.5` (h:m:s) or `44100/44100`
    /// (value/timescale), with a leading `-` if negative. The highest unit may be of any size, those below it end
    /// at 59. Up to nine decimals are exact, on the power of ten that was written; further ones are rounded away
    /// and mark the time. A fraction is read as it stands, a trailing `~` marks it as rounded. No words.
    public init(parsing text: some StringProtocol) throws(ParsingError) {
        do throws(TextMistake) {
            self = try TimeText(bytes: Array(text.utf8)[...]).time()
        } catch {
            throw ParsingError(error.code, text, error.detail)
        }
    }

    /// Reads what `rationalDescription` wrote, words included, and whatever `init(parsing:)` reads.
    public init(rationalDescription text: some StringProtocol) throws(ParsingError) {
        if let time = MediaTime(word: text) {
            self = time
        } else {
            self = try MediaTime(parsing: text)
        }
    }
}

/// A mistake in a text, before the text is attached to it.
private struct TextMistake: Error {
    var code: MediaTime.ParsingError.Code
    var detail: String
}

/// The bytes of a text that should be a time, and the grammar they should follow.
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
                detail: "a value is of 64 bits, and a timescale at most \(Int32.max)"
            )
        }
        return MediaTime(value: value, timescale: timescale, hasBeenRounded: isMarked)
    }

    // MARK: Seconds, minutes, hours

    private static func decimal(_ text: Bytes, isNegative: Bool) throws(TextMistake) -> MediaTime {
        let (clock, unitShift) = unit(of: text)
        let fields = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard fields.count <= 3 else {
            throw TextMistake(code: .malformed, detail: "there are at most hours, minutes and seconds")
        }
        guard fields.count == 1 || clock.count == text.count else {
            throw TextMistake(code: .malformed, detail: "a unit does not go with ':'")
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
                    detail: "minutes and seconds below a higher unit end at 59"
                )
            }
            guard index == 0 || field.count <= 2 else {
                throw TextMistake(
                    code: .malformed,
                    detail: "minutes and seconds below a higher unit have at most two digits"
                )
            }
            seconds = seconds * 60 + count
        }
        return try time(seconds: seconds, decimals: decimals, isNegative: isNegative)
    }

    /// How many places the unit at the end moves the decimal point to the left, and the text before it.
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
        // Nine places are the most a 32-bit timescale can count; the tenth decides which way the ninth goes.
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
            throw TextMistake(code: .malformed, detail: "digits are missing, or something stands among them")
        }
    }

    /// Digits as a number of at most 64 bits, the widest that any field has a use for.
    private static func number(_ text: Bytes) throws(TextMistake) -> UInt128 {
        try requireDigits(text)
        var number: UInt128 = 0
        for digit in text {
            number = number * 10 + UInt128(digit - UInt8(ascii: "0"))
            guard number <= UInt64.max else { throw tooLong }
        }
        return number
    }

    private static let tooLong = TextMistake(code: .outOfRange, detail: "it is beyond what 64 bits can count")
}
