extension MediaTime: CustomStringConvertible {
    /// The time as a user writes it: `0:03.25`, `5:00`, `1:02:03.5`, with a leading `-` if negative.
    ///
    /// Exact for every time with at most nine decimals, and `init(parsing:)` parses those back to an equal time.
    /// Finer times are rounded to nine decimals, half away from zero; the rounding mark is not shown. A non-numeric
    /// time is a word. Use `rationalDescription` if nothing may be lost.
    public var description: String {
        guard isNumeric else { return word }
        let billionths = UInt128(value.magnitude) * 1_000_000_000
        let scale = UInt128(timescale)
        let (quotient, remainder) = billionths.quotientAndRemainder(dividingBy: scale)
        let rounded = quotient + (remainder >= scale - remainder ? 1 : 0)
        let (wholeSeconds, fraction) = rounded.quotientAndRemainder(dividingBy: 1_000_000_000)
        let seconds = UInt64(wholeSeconds)

        var text = value < 0 && rounded != 0 ? "-" : ""
        if seconds >= 3600 {
            text += "\(seconds / 3600):" + Self.padded(seconds / 60 % 60, to: 2)
        } else {
            text += "\(seconds / 60)"
        }
        text += ":" + Self.padded(seconds % 60, to: 2)
        if fraction != 0 {
            var digits = Self.padded(UInt64(fraction), to: 9)
            while digits.last == "0" { digits.removeLast() }
            text += "." + digits
        }
        return text
    }

    /// The time without loss: `value/timescale`, then `~` if it has been rounded.
    ///
    /// A non-numeric time is a word: `+infinity`, `-infinity`, `indefinite` or `invalid`.
    public var rationalDescription: String {
        isNumeric ? "\(value)/\(timescale)" + (hasBeenRounded ? "~" : "") : word
    }

    /// The non-numeric times, each of which is written as a word.
    private static let beyondNumbers = [positiveInfinity, negativeInfinity, indefinite, invalid]

    /// The word for a non-numeric time.
    private var word: String {
        if !isValid { return "invalid" }
        if isIndefinite { return "indefinite" }
        return flags.contains(.positiveInfinity) ? "+infinity" : "-infinity"
    }

    /// The non-numeric time that is written as `word`; `nil` if there is none.
    init?(word: some StringProtocol) {
        guard let time = Self.beyondNumbers.first(where: { $0.word == word }) else { return nil }
        self = time
    }

    private static func padded(_ number: UInt64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
