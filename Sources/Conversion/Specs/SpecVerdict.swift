/// What a spec says of one file.
public struct SpecVerdict: Sendable, Hashable, Codable {
    /// The name of the spec.
    public let spec: String
    /// The page that states the limits.
    public let page: String
    /// Whether the file keeps all limits, and has no damage.
    public let passes: Bool
    /// Whether the file has damage, in whose place silence was measured; `nil` if it has none.
    public let isDamaged: Bool?
    /// A verdict for each rule, in the order of the spec.
    public let rules: [RuleVerdict]

    init(_ spec: AudioSpec, _ rules: [RuleVerdict], isDamaged: Bool) {
        (self.spec, page, self.rules) = (spec.rawValue, spec.page, rules)
        self.isDamaged = isDamaged ? true : nil
        passes = !isDamaged && rules.allSatisfy(\.passes)
    }

    /// The rules that the file breaks.
    public var broken: [RuleVerdict] { rules.filter { !$0.passes } }
}

/// What one rule says: the value that was measured, its limits, and whether it keeps them.
public struct RuleVerdict: Sendable, Hashable, Codable {
    public let rule: SpecRule.Quantity
    public let passes: Bool
    /// The figure, in `unit`; `nil` for words, and if it could not be measured. Levels are in hundredths.
    public let value: Double?
    /// The word; `nil` for figures, and if it is unknown.
    public let word: String?
    public let unit: String?
    public let least: Double?
    public let most: Double?
    /// The words that are allowed; `nil` for figures.
    public let allowed: [String]?
    /// Where to listen: the worst place of what the rule limits; `nil` if it has none.
    public let at: MediaTime?
    public let place: Place?

    /// What is at that place.
    public enum Place: String, Sendable, Hashable, Codable {
        case loudestSecond = "loudest_second"
        case quietestHalfSecond = "quietest_half_second"
        case largestSample = "largest_sample"
        case firstSound = "first_sound"
        case lastSound = "last_sound"
    }
}

extension AudioSpec {
    /// Judges a file by its description. A quantity that could not be measured fails its rule: `report` needs its `scan`,
    /// its `loudness` and its `levels`.
    public func verdict(on report: SourceReport) -> SpecVerdict {
        let facts = SpecFacts(report)
        let isDamaged = report.scan?.damage.isEmpty == false
        return SpecVerdict(self, rules.map { $0.verdict(on: facts) }, isDamaged: isDamaged)
    }
}

extension SpecRule {
    fileprivate func verdict(on facts: SpecFacts) -> RuleVerdict {
        let word = facts.word(quantity)
        var most = most
        if let ofLouder, let loudness = facts.figure(.loudness)?.inHundredths, loudness > ofLouder.thanLUFS {
            most = ofLouder.most
        }
        let allowed = (least ?? -.infinity)...(most ?? .infinity)
        // Of a quantity that changes, the figure that breaks the limit counts.
        let figures = facts.figures(quantity).map(\.inHundredths)
        let value = figures.first { !allowed.contains($0) } ?? figures.first
        let passes = words.isEmpty ? value.map(allowed.contains) ?? false : word.map(words.contains) ?? false
        let (at, place) = facts.place(quantity)
        return RuleVerdict(
            rule: quantity,
            passes: passes,
            value: value,
            word: word,
            unit: quantity.unit,
            least: least,
            most: most,
            allowed: words.isEmpty ? nil : words,
            at: at,
            place: at == nil ? nil : place
        )
    }
}

/// The parts of a description that the rules use.
private struct SpecFacts {
    let report: SourceReport
    let track: TrackReport?

    init(_ report: SourceReport) {
        self.report = report
        track = report.tracks.first(where: \.isMain)
    }

    private var levels: LevelReport? { report.levels }

    /// The lowest and the highest figure of what may change in the middle of a file; of others, the figure.
    func figures(_ quantity: SpecRule.Quantity) -> [Double] {
        let range: ClosedRange<Int>? =
            switch quantity {
            case .sampleRate: track.map { $0.decodedSampleRatesHz ?? $0.sampleRateHz...$0.sampleRateHz }
            case .channels: track.map { $0.decodedChannelCounts ?? $0.channelCount...$0.channelCount }
            default: nil
            }
        if let range { return [Double(range.lowerBound), Double(range.upperBound)] }
        return figure(quantity).map { [$0] } ?? []
    }

    func figure(_ quantity: SpecRule.Quantity) -> Double? {
        switch quantity {
        case .container, .codec, .bitRateMode, .sampleRate, .channels: nil
        case .bitRate: (track?.lowestBitRate ?? track?.bitRate).map(Double.init)
        case .length: levels?.length?.seconds
        case .loudness: report.loudness?.integratedLUFS
        case .rms: levels?.rmsDBFS
        case .samplePeak: peak(report.loudness?.samplePeakDBFS)
        case .truePeak: peak(report.loudness?.truePeakDBTP)
        case .noiseFloor: levels?.noiseFloor?.levelDBFS
        case .toneAtStart: levels?.toneAtStart?.seconds
        case .toneAtEnd: levels?.toneAtEnd?.seconds
        }
    }

    func word(_ quantity: SpecRule.Quantity) -> String? {
        switch quantity {
        case .container: report.container
        case .codec: track.map { SpecRule.pcmNames.contains($0.codec) ? SpecRule.pcm : $0.codec }
        case .bitRateMode:
            track?.lowestBitRate.map { $0 == track?.highestBitRate ? SpecRule.constant : SpecRule.variable }
        default: nil
        }
    }

    func place(_ quantity: SpecRule.Quantity) -> (MediaTime?, RuleVerdict.Place?) {
        switch quantity {
        case .rms, .loudness: (levels?.loudestSecond?.start, .loudestSecond)
        case .samplePeak, .truePeak: (levels?.peakAt, .largestSample)
        case .noiseFloor: (levels?.noiseFloor?.start, .quietestHalfSecond)
        case .toneAtStart: (levels?.toneAtStart, .firstSound)
        case .toneAtEnd: (lastSound, .lastSound)
        default: (nil, nil)
        }
    }

    /// Silence has no peak. It is below every limit. Other sound without a peak has samples that are not numbers.
    private func peak(_ decibels: Double?) -> Double? {
        decibels ?? levels?.rmsDBFS.flatMap { $0 <= LevelReport.silenceDBFS ? LevelReport.silenceDBFS : nil }
    }

    private var lastSound: MediaTime? {
        guard let length = levels?.length, let tone = levels?.toneAtEnd else { return nil }
        return length - tone
    }
}
