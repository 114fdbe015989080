/// Settles the format for one source: decides every field in turn and collects every reason to refuse.
struct Resolution {
    let wish: AudioFormat
    let source: AudioShape
    var reasons: [FormatRefusal.Reason] = []

    init(of wish: AudioFormat, for source: AudioShape) {
        self.wish = wish
        self.source = source
    }

    mutating func run() throws(FormatRefusal) -> ResolvedFormat {
        let codec = wish.codec ?? FormatTable.defaultCodec(for: wish.container)
        checkContradictions()
        guard let rule = FormatTable.rule(wish.container, codec) else {
            let takes = FormatTable.codecs(for: wish.container).map(\.rawValue).joined(separator: ", ")
            let takers = FormatTable.rules.filter { $0.codec == codec }.map(\.container.title)
            refuse(
                "codec",
                codec.rawValue,
                "\(wish.container.title) cannot store \(codec.title)",
                allowed: takes,
                hint: "\(codec.title) can be stored in \(takers.joined(separator: ", "))"
            )
            throw FormatRefusal(reasons: reasons)
        }
        let layout = settleLayout(rule)
        let rate = settleRate(rule, channelCount: layout.channelCount)
        let depth = settleDepth(rule)
        checkDither(rule, sampleRateHz: rate)
        let endianness = settleEndianness(rule, depth)
        let (bitRate, quality) = settleEffort(rule, sampleRateHz: rate, channelCount: layout.channelCount)
        let format = ResolvedFormat(
            container: wish.container,
            codec: codec,
            sampleRateHz: rate,
            channelCount: layout.channelCount,
            layout: layout,
            bitDepth: depth.bits,
            sampleKind: depth.kind,
            dither: wish.dither == .tpdf ? nil : wish.dither,
            resample: wish.resample == .standard ? nil : wish.resample,
            endianness: endianness,
            bitRate: bitRate,
            quality: quality
        )
        checkLength(format, rule)
        guard reasons.isEmpty else { throw FormatRefusal(reasons: reasons) }
        return format
    }

    mutating func refuse(
        _ field: String,
        _ value: String,
        _ why: String,
        allowed: String,
        hint: String? = nil
    ) {
        reasons.append(.init(field: field, value: value, why: why, allowed: allowed, hint: hint))
    }

    /// Refuses requests that contradict each other, whatever the container.
    private mutating func checkContradictions() {
        if wish.interleaving == .planar {
            refuse(
                "interleaving",
                "planar",
                "\(wish.container.title) stores interleaved channels",
                allowed: "interleaved"
            )
        }
        if let layout = wish.layout, let count = wish.channelCount, layout.channelCount != count {
            refuse(
                "layout",
                "\(layout)",
                "it has \(Plural.count(layout.channelCount, "channel")), but channels is \(count)",
                allowed: ChannelLayout.named.filter { $0.layout.channelCount == count }.map(\.name)
                    .joined(separator: ", ", ifEmpty: "no named layout")
            )
        }
        if wish.quality != nil, let bitRate = wish.bitRate ?? wish.bitRatePerChannel {
            refuse("bitrate", "\(bitRate)", "quality is set as well", allowed: "one of the two")
        } else if let bitRate = wish.bitRate, wish.bitRatePerChannel != nil {
            refuse("bitrate", "\(bitRate)", "a bit rate per channel is set as well", allowed: "one of the two")
        }
    }
}

// MARK: - Rate

extension Resolution {
    fileprivate mutating func settleRate(_ rule: FormatRule, channelCount: Int) -> Int {
        if let rate = wish.sampleRateHz {
            if !rule.rates.contains(rate) {
                refuse(
                    "rate",
                    "\(rate)",
                    "\(rule.codec.title) in \(rule.container.title) does not support it",
                    allowed: rule.rates.title
                )
            }
            return rate
        }
        // A requested bit rate may exist only at higher sample rates. Raising the rate loses nothing. Lowering it
        // would lose sound, so in that case the bit rate is refused.
        let fits: (Int) -> Bool = { rate in
            guard let bitRate = wish.bitRate, rule.bitRates != .none else { return true }
            return rule.bitRates.contains(bitRate, sampleRateHz: rate, channelCount: channelCount)
        }
        let upwards = rule.rates.nearest(to: source.sampleRateHz, where: fits) ?? 0
        let accepts = upwards < source.sampleRateHz ? { _ in true } : fits
        let ceiling = wish.maximumSampleRateHz ?? .max
        let nearest = rule.rates.nearest(to: min(source.sampleRateHz, ceiling), where: accepts)
        if let nearest, nearest <= ceiling { return nearest }
        if let highest = rule.rates.highest(upTo: ceiling, where: accepts) { return highest }
        refuse(
            "rate",
            "at most \(ceiling)",
            "\(rule.codec.title) in \(rule.container.title) needs a higher rate",
            allowed: rule.rates.title
        )
        return source.sampleRateHz
    }
}

extension Sequence<String> {
    fileprivate func joined(separator: String, ifEmpty words: String) -> String {
        let text = joined(separator: separator)
        return text.isEmpty ? words : text
    }
}
