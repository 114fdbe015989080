extension SpecRule.Quantity {
    /// `room tone at start`
    public var title: String {
        switch self {
        case .toneAtStart: "room tone at start"
        case .toneAtEnd: "room tone at end"
        case .rms: "RMS"
        default: rawValue.split(separator: "_").joined(separator: " ")
        }
    }

    /// A figure with its unit, and with no more than `places` decimals: `44.1 kHz`, `192k`, `-23.0 dBFS`, `2:00:00`.
    func text(_ value: Double, places: Int) -> String {
        guard value.magnitude < 1e12 else { return "\(value)" }
        switch self {
        case .sampleRate: return Figures.hertz(Int(value))
        case .bitRate: return Figures.bitRate(Int(value))
        case .channels: return "\(Int(value))"
        case .length: return MediaTime(value: Int64((value * 100).rounded()), timescale: 100).description
        default:
            if unit == "dBFS" || unit == "dBTP", value <= LevelReport.silenceDBFS { return "silence" }
            return Figures.decimals(value, places) + (unit.map { " " + $0 } ?? "")
        }
    }
}

extension SpecRule {
    /// What is allowed: `-23 to -18 dBFS`, `at most 2:00:00`, `mp3`.
    public var limit: String {
        var text = Self.limit(of: quantity, words: words, least: least, most: most)
        if let ofLouder {
            let most = Self.figure(ofLouder.most, of: quantity)
            text += ", and \(most) if louder than \(Self.figure(ofLouder.thanLUFS, of: .loudness))"
        }
        return text
    }

    fileprivate static func limit(of quantity: Quantity, words: [String], least: Double?, most: Double?) -> String {
        if !words.isEmpty { return words.joined(separator: ", ") }
        switch (least, most) {
        case (let least?, let most?) where least == most: return figure(least, of: quantity)
        case (let least?, let most?):
            let (low, high) = (figure(least, of: quantity), figure(most, of: quantity))
            // The unit is said once.
            let unit = quantity.unit.map { " " + $0 } ?? ""
            return (low.hasSuffix(unit) ? String(low.dropLast(unit.count)) : low) + " to " + high
        case (let least?, nil): return "at least \(figure(least, of: quantity))"
        case (nil, let most?): return "at most \(figure(most, of: quantity))"
        case (nil, nil): return ""
        }
    }

    /// Limits have no more decimals than they need.
    private static func figure(_ value: Double, of quantity: Quantity) -> String {
        quantity.text(value, places: value == value.rounded() ? 0 : 1)
    }
}

extension RuleVerdict {
    /// What was measured, to the hundredth: `-25.31 dBFS`; `unknown` if it could not be measured.
    public var measured: String { word ?? value.map { rule.text($0, places: 2) } ?? "unknown" }

    /// What is allowed.
    public var limit: String { SpecRule.limit(of: rule, words: allowed ?? [], least: least, most: most) }
}

extension AudioSpec {
    /// All rules as `docs/specs.md` shows them.
    public static var markdown: String {
        let lines = allCases.flatMap { spec in
            spec.rules.map { "| `\(spec.rawValue)` | \($0.quantity.title) | `\($0.quantity.rawValue)` | \($0.limit) |" }
        }
        let head = ["| spec | what is measured | `rule` of `--json` | allowed |", "| --- | --- | --- | --- |"]
        return (head + lines).joined(separator: "\n") + "\n"
    }
}
