/// A change of level in decibels. Negative infinity is silence.
///
/// At most +60 dB; below -144 dB, the range of 24-bit samples, there is only silence.
public struct Gain: Sendable, Hashable {
    /// The change in dB: 0 changes nothing, negative infinity leaves nothing.
    public let decibels: Double

    /// The highest gain, in dB.
    public static let maximumDecibels: Double = 60
    /// The lowest gain above silence, in dB.
    public static let minimumDecibels: Double = -144

    /// 0 dB: no change.
    public static let unity = Gain(checked: 0)
    /// No sound at all.
    public static let silence = Gain(checked: -.infinity)

    /// `nil` if `decibels` is above +60, or below -144 and not negative infinity, or not a number.
    public init?(decibels: Double) {
        guard decibels == -.infinity || (Self.minimumDecibels...Self.maximumDecibels).contains(decibels) else {
            return nil
        }
        self.init(checked: decibels)
    }

    private init(checked decibels: Double) {
        // There is one zero: -0 would be written in another way than 0.
        self.decibels = decibels == 0 ? 0 : decibels
    }

    /// Whether nothing is heard.
    public var isSilence: Bool { decibels == -.infinity }

    /// The factor of the samples: exactly 1 at 0 dB, exactly 0 for silence.
    public var amplitude: Double {
        // The standard library's own function: this module imports no C.
        decibels == 0 ? 1 : _exp(decibels * (Self.logarithmOfTen / 20))
    }

    private static let logarithmOfTen = 2.302585092994045684
}

// MARK: - Words

extension Gain: CustomStringConvertible {
    /// The gain as a user writes it: `-3dB`, `0dB`, `+2.5dB`, `-inf`.
    public var description: String {
        if isSilence { return "-inf" }
        let digits = "\(decibels)"
        return (decibels > 0 ? "+" : "") + (digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits) + "dB"
    }

    /// Parses what `description` returns. The sign `+` may be missing, and the case of the letters does not matter.
    public init(parsing text: some StringProtocol) throws(EditTextError) {
        let lowered = text.lowercased()
        if lowered == "-inf" || lowered == "-infdb" {
            self = .silence
            return
        }
        let digits = lowered.dropLast(2)
        guard lowered.hasSuffix("db"), let number = Self.number(digits), number.isFinite else {
            throw EditTextError(text, "not a gain; allowed: -3dB, 0dB, +2.5dB, -inf for silence")
        }
        guard let gain = Gain(decibels: number) else {
            throw EditTextError(text, "not a gain; allowed: -144dB to +60dB, -inf for silence")
        }
        self = gain
    }

    /// A decimal number, with an exponent if it is tiny; `nil` for the other forms that Swift knows.
    private static func number(_ digits: Substring) -> Double? {
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.e".utf8.contains($0) }) else { return nil }
        return Double(digits)
    }
}

extension Gain: Codable {
    /// Decodes a text in any form that `init(parsing:)` parses.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do throws(EditTextError) {
            self = try Gain(parsing: text)
        } catch {
            throw DecodingError(error, in: decoder)
        }
    }

    /// Encodes `description`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
