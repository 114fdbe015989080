/// Which silence at the ends of a sound is left out.
///
/// A frame is silent if no sample of it, in any channel, exceeds the threshold. Silence within the sound stays.
public struct SilenceTrim: Sendable, Hashable {
    /// The highest level of silence, as a sample's part of full scale.
    public var threshold: Gain
    /// Silence that is shorter than this stays; longer silence is left out whole.
    public var shortest: MediaTime
    /// Where silence is left out.
    public var ends: Ends

    /// An end of a sound, or both.
    public enum Ends: String, Sendable, Hashable, CaseIterable {
        case start, end, both
    }

    /// Checks nothing; `Recipe.validate()` does.
    public init(threshold: Gain, shortest: MediaTime, ends: Ends = .both) {
        self.threshold = threshold
        self.shortest = shortest
        self.ends = ends
    }

    /// Whether silence at the start is left out.
    public var trimsStart: Bool { ends != .end }
    /// Whether silence at the end is left out.
    public var trimsEnd: Bool { ends != .start }

    /// What is wrong with the values; `nil` if nothing is.
    var mistake: String? {
        if threshold.isSilence || threshold.decibels >= 0 {
            return "the threshold \(threshold) is not allowed; allowed: -144dB to less than 0dB"
        }
        guard shortest.isNumeric, shortest >= .zero, shortest <= Timeline.maximumLength else {
            return "the length \(shortest) is not allowed; allowed: 0 to \(Timeline.maximumLength)"
        }
        return nil
    }
}

// MARK: - Words

extension SilenceTrim: CustomStringConvertible {
    /// As users and recipes write it: `-60dB/0:00.5`, or `-60dB/0:00.5/start` for one end.
    public var description: String {
        "\(threshold)/\(shortest.textInRecipes)" + (ends == .both ? "" : "/\(ends.rawValue)")
    }

    /// Parses what `description` returns, and the word `both`.
    public init(parsing text: some StringProtocol) throws(EditTextError) {
        let allowed = "allowed: a level and a time, as in -60dB/0.5s, and /start or /end for one end only"
        // A time may be a fraction, so only the first part and a last word are certain.
        var parts = text.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        let ends = parts.last.flatMap { Ends(rawValue: $0) }
        if ends != nil { parts.removeLast() }
        guard parts.count >= 2, let threshold = try? Gain(parsing: parts[0]),
            // `try?`: the message says what is allowed.
            let shortest = try? MediaTime(parsing: parts.dropFirst().joined(separator: "/"))
        else { throw EditTextError(text, "not a silence; \(allowed)") }
        self.init(threshold: threshold, shortest: shortest, ends: ends ?? .both)
        if let mistake { throw EditTextError(text, mistake) }
    }
}

extension SilenceTrim: Codable {
    /// Decodes a text in any form that `init(parsing:)` parses.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do throws(EditTextError) {
            self = try SilenceTrim(parsing: text)
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
