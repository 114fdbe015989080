/// What a spec says of an output that was made: its verdict without the limits, as a job keeps it.
public struct SpecReport: Sendable, Hashable, Codable {
    /// The name of the spec.
    public var spec: String
    /// Whether the output keeps all limits. Outputs of completed jobs do: others fail their job.
    public var passes: Bool
    /// What was measured, in the order of the spec's rules.
    public var measured: [Measured]

    /// A value that a rule limits. Names are text, because a later release may know more of them.
    public struct Measured: Sendable, Hashable, Codable {
        /// As in `SpecRule.Quantity`.
        public var rule: String
        /// The figure, in `unit`; `nil` for words. Levels are in hundredths.
        public var value: Double?
        /// The word; `nil` for figures.
        public var word: String?
        public var unit: String?

        public init(rule: String, value: Double? = nil, word: String? = nil, unit: String? = nil) {
            (self.rule, self.value, self.word, self.unit) = (rule, value, word, unit)
        }
    }

    public init(spec: String, passes: Bool, measured: [Measured]) {
        (self.spec, self.passes, self.measured) = (spec, passes, measured)
    }

    public init(_ verdict: SpecVerdict) {
        (spec, passes) = (verdict.spec, verdict.passes)
        measured = verdict.rules.map {
            Measured(rule: $0.rule.rawValue, value: $0.value, word: $0.word, unit: $0.unit)
        }
    }

    /// One line: `acx: accepted, RMS -20.1 dBFS, sample peak -3.4 dBFS, noise floor -66.0 dBFS`.
    public var line: String {
        let levels: [SpecRule.Quantity] = [.loudness, .rms, .samplePeak, .truePeak, .noiseFloor]
        let words = measured.compactMap { measured -> String? in
            guard let quantity = SpecRule.Quantity(rawValue: measured.rule), levels.contains(quantity),
                let value = measured.value
            else { return nil }
            return "\(quantity.title) \(quantity.text(value, places: 1))"
        }
        return (["\(spec): \(passes ? "accepted" : "refused")"] + words).joined(separator: ", ")
    }
}
