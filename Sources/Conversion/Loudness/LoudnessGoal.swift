/// How loud an output should be, and which true peak it must not exceed.
public struct LoudnessGoal: Sendable, Hashable {
    /// The integrated loudness to reach.
    public var target: Target
    /// The ceiling for true peaks.
    public var truePeak: Level
    /// What is brought to that loudness: each output, or all outputs of a batch together, by one gain.
    public var scope: Scope

    public init(target: Target, truePeak: Level = .usualTruePeak, scope: Scope = .track) {
        self.target = target
        self.truePeak = truePeak
        self.scope = scope
    }

    public enum Scope: String, Sendable, Hashable, Codable, CaseIterable {
        case track, album
    }

    /// A loudness, by its figure or by the purpose that it is usual for.
    public enum Target: Sendable, Hashable {
        case level(Level)
        case named(Purpose)
    }

    /// A purpose with an established loudness.
    public enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// -16 LUFS, and -19 LUFS for mono, which is as loud when two speakers play it.
        case podcast
        /// -23 LUFS, as EBU R 128 asks of programmes.
        case broadcast
        /// -14 LUFS, to which the large music services bring their tracks.
        case streaming

        /// One line for the user.
        public var summary: String {
            switch self {
            case .podcast: "-16 LUFS, and -19 LUFS for mono"
            case .broadcast: "-23 LUFS (EBU R 128)"
            case .streaming: "-14 LUFS"
            }
        }
    }

    /// A level in hundredths of a decibel, so that equal levels are equal values and have one text.
    public struct Level: Sendable, Hashable {
        public var hundredths: Int

        public init(hundredths: Int) { self.hundredths = hundredths }

        public var decibels: Double { Double(hundredths) / 100 }

        /// -1 dBTP, which leaves room for what lossy codecs add.
        public static let usualTruePeak = Level(hundredths: -100)
        /// The loudness levels that may be asked for.
        public static let loudnessRange = -5_000 ... -500
        /// The true peaks that may be asked for.
        public static let truePeakRange = -2_000...0
    }

    /// The loudness for an output with so many channels.
    public func level(channelCount: Int) -> Level {
        switch target {
        case .level(let level): level
        case .named(.podcast): Level(hundredths: channelCount == 1 ? -1_900 : -1_600)
        case .named(.broadcast): Level(hundredths: -2_300)
        case .named(.streaming): Level(hundredths: -1_400)
        }
    }
}

// MARK: - Text

extension LoudnessGoal.Level {
    /// Reads `-16`, `-16.5LUFS` or `-1 dBTP`, with or without the unit; `nil` for anything else, and for more than two
    /// decimals.
    init?(_ text: some StringProtocol, unit: String) {
        var digits = Substring(text.lowercased())
        if digits.hasSuffix(unit.lowercased()) {
            digits = digits.dropLast(unit.count)
            if digits.last == " " { digits = digits.dropLast() }
        }
        let isNegative = digits.first == "-"
        if isNegative || digits.first == "+" { digits = digits.dropFirst() }
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...3).contains(parts[0].count),
            parts.count == 1 || (1...2).contains(parts[1].count),
            parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { return nil }
        let decimals = parts.count == 1 ? "00" : parts[1].count == 1 ? parts[1] + "0" : parts[1]
        guard let whole = Int(parts[0]), let part = Int(decimals) else { return nil }
        hundredths = (whole * 100 + part) * (isNegative ? -1 : 1)
    }

    /// `-16LUFS`, with no more decimals than needed.
    func text(unit: String) -> String {
        let (whole, part) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        let decimals = part == 0 ? "" : part % 10 == 0 ? ".\(part / 10)" : part < 10 ? ".0\(part)" : ".\(part)"
        return (hundredths < 0 ? "-" : "") + "\(whole)\(decimals)\(unit)"
    }
}

extension LoudnessGoal.Target {
    /// What a text may be, for messages.
    public static let allowed =
        "a loudness from -50LUFS to -5LUFS, or \(LoudnessGoal.Purpose.allCases.map(\.rawValue).joined(separator: ", "))"

    /// Reads `-16LUFS`, `-16` or the name of a purpose; `nil` for anything else.
    public init?(_ text: String) {
        if let purpose = LoudnessGoal.Purpose(rawValue: text.lowercased()) {
            self = .named(purpose)
        } else if let level = LoudnessGoal.Level(text, unit: "LUFS"),
            LoudnessGoal.Level.loudnessRange.contains(level.hundredths)
        {
            self = .level(level)
        } else {
            return nil
        }
    }

    /// As recipes write it: `-16LUFS`, `podcast`.
    public var text: String {
        switch self {
        case .level(let level): level.text(unit: "LUFS")
        case .named(let purpose): purpose.rawValue
        }
    }
}

extension LoudnessGoal.Level {
    /// What the text of a true peak may be, for messages.
    public static let allowedTruePeaks = "a true peak from -20dBTP to 0dBTP"

    /// Reads `-1dBTP` or `-1`; `nil` for anything else.
    public init?(truePeak text: String) {
        guard let level = Self(text, unit: "dBTP"), Self.truePeakRange.contains(level.hundredths) else { return nil }
        self = level
    }

    /// As recipes write it: `-1dBTP`.
    public var truePeakText: String { text(unit: "dBTP") }
}

// MARK: - In recipes

extension LoudnessGoal: Codable {
    private enum Field: String, CodingKey, CaseIterable {
        case target, truePeak, scope
    }

    /// Decodes strictly. Without `truePeak`, the ceiling is -1 dBTP.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        let text: String = try fields.required(.target)
        guard let target = Target(text) else {
            throw fields.refusal(of: .target, "\"\(text)\"; allowed: \(Target.allowed)")
        }
        self.init(target: target, scope: try fields.word(.scope) ?? .track)
        guard let text: String = try fields.optional(.truePeak) else { return }
        guard let level = Level(truePeak: text) else {
            throw fields.refusal(of: .truePeak, "\"\(text)\"; allowed: \(Level.allowedTruePeaks)")
        }
        truePeak = level
    }

    /// Writes the scope only if it is an album.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(target.text, forKey: .target)
        try container.encode(truePeak.truePeakText, forKey: .truePeak)
        if scope != .track { try container.encode(scope, forKey: .scope) }
    }
}

extension LoudnessGoal {
    /// Checks the bounds of a goal that was made in code.
    func validate(at path: String) throws(RecipeError) {
        if case .level(let level) = target, !Level.loudnessRange.contains(level.hundredths) {
            throw RecipeError(.valueNotAllowed, at: "\(path).target", "\(target.text); allowed: \(Target.allowed)")
        }
        guard Level.truePeakRange.contains(truePeak.hundredths) else {
            let reason = "\(truePeak.truePeakText); allowed: \(Level.allowedTruePeaks)"
            throw RecipeError(.valueNotAllowed, at: "\(path).truePeak", reason)
        }
    }
}
