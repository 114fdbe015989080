/// One format being settled for one source: every field in turn, every reason to refuse collected.
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
                "\(wish.container.title) does not take \(codec.title)",
                allowed: takes,
                hint: "\(codec.title) goes into \(takers.joined(separator: ", "))"
            )
            throw FormatRefusal(reasons: reasons)
        }
        let layout = settleLayout(rule)
        let rate = settleRate(rule, channelCount: layout.channelCount)
        let depth = settleDepth(rule)
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
            endianness: endianness,
            bitRate: bitRate,
            quality: quality
        )
        checkLength(format, rule)
        guard reasons.isEmpty else { throw FormatRefusal(reasons: reasons) }
        return format
    }

    private mutating func refuse(
        _ field: String,
        _ value: String,
        _ why: String,
        allowed: String,
        hint: String? = nil
    ) {
        reasons.append(.init(field: field, value: value, why: why, allowed: allowed, hint: hint))
    }

    /// What no container could make sense of.
    private mutating func checkContradictions() {
        if wish.interleaving == .planar {
            refuse(
                "interleaving",
                "planar",
                "\(wish.container.title) stores the channels of a frame side by side",
                allowed: "interleaved"
            )
        }
        if let layout = wish.layout, let count = wish.channelCount, layout.channelCount != count {
            refuse(
                "layout",
                "\(layout)",
                "it has \(layout.channelCount) channels, and \(count) are asked for",
                allowed: ChannelLayout.named.filter { $0.layout.channelCount == count }.map(\.name)
                    .joined(separator: ", ", ifEmpty: "none named")
            )
        }
        if wish.quality != nil, let bitRate = wish.bitRate ?? wish.bitRatePerChannel {
            refuse("bitrate", "\(bitRate)", "quality is asked for as well", allowed: "one of the two")
        } else if let bitRate = wish.bitRate, wish.bitRatePerChannel != nil {
            refuse("bitrate", "\(bitRate)", "a bit rate per channel is asked for as well", allowed: "one of the two")
        }
    }
}

// MARK: - Rate

extension Resolution {
    private mutating func settleRate(_ rule: FormatRule, channelCount: Int) -> Int {
        if let rate = wish.sampleRateHz {
            if !rule.rates.contains(rate) {
                refuse(
                    "rate",
                    "\(rate)",
                    "\(rule.codec.title) in \(rule.container.title) does not take it",
                    allowed: rule.rates.title
                )
            }
            return rate
        }
        // A bit rate that was asked for exists only at some rates: those are the ones to choose from.
        let fits: (Int) -> Bool = { rate in
            guard let bitRate = wish.bitRate, rule.bitRates != .none else { return true }
            return rule.bitRates.contains(bitRate, sampleRateHz: rate, channelCount: channelCount)
        }
        let accepts = rule.rates.nearest(to: source.sampleRateHz, where: fits) == nil ? { _ in true } : fits
        let ceiling = wish.maximumSampleRateHz ?? .max
        let nearest = rule.rates.nearest(to: min(source.sampleRateHz, ceiling), where: accepts)
        if let nearest, nearest <= ceiling { return nearest }
        if let highest = rule.rates.highest(upTo: ceiling, where: accepts) { return highest }
        refuse(
            "rate",
            "at most \(ceiling)",
            "\(rule.codec.title) in \(rule.container.title) starts above it",
            allowed: rule.rates.title
        )
        return source.sampleRateHz
    }
}

// MARK: - Channels

extension Resolution {
    private mutating func settleLayout(_ rule: FormatRule) -> ChannelLayout {
        let given = source.effectiveLayout
        if let layout = wish.layout {
            if given.isDiscrete, layout.channelCount != given.channelCount { refuseMixing("layout", "\(layout)") }
            if let known = rule.layouts, !known.contains(layout) {
                refuse(
                    "layout",
                    "\(layout)",
                    "\(rule.codec.title) in \(rule.container.title) does not take it",
                    allowed: known.map(\.description).joined(separator: ", ")
                )
            } else if !rule.channels.contains(layout.channelCount) {
                refuseChannels(layout.channelCount, rule)
            }
            return layout
        }
        if let count = wish.channelCount { return layout(of: count, rule, given) }

        let ceiling = min(rule.channels.upperBound, wish.maximumChannelCount ?? .max)
        if let maximum = wish.maximumChannelCount, maximum < 1 {
            refuse("channels", "at most \(maximum)", "there has to be one", allowed: "1 or more")
            return given
        }
        if given.isDiscrete {
            if given.channelCount > ceiling || rule.layouts != nil { refuseMixing("channels", "\(ceiling)") }
            return given
        }
        return Self.nearest(to: given, among: rule.layouts, ceiling: ceiling)
    }

    /// The layout for a count that was asked for: the source's own if it may, else the codec's, else the usual one.
    private mutating func layout(of count: Int, _ rule: FormatRule, _ given: ChannelLayout) -> ChannelLayout {
        guard rule.channels.contains(count) else {
            refuseChannels(count, rule)
            return given
        }
        if given.isDiscrete, given.channelCount != count { refuseMixing("channels", "\(count)") }
        guard let known = rule.layouts else {
            return given.channelCount == count ? given : .standard(for: count) ?? .discrete(count)
        }
        let fitting = known.filter { $0.channelCount == count }
        guard let first = fitting.first else {
            refuseChannels(count, rule)
            return given
        }
        return fitting.first { $0 == given } ?? fitting.first { $0 == given.sidesAsBacks }
            ?? fitting.first { $0 == .standard(for: count) } ?? first
    }

    /// What carries most of `given`.
    ///
    /// First itself (5.1(side) counts as 5.1), then the smallest layout that has all its speakers, so that nothing
    /// is mixed (ALAC knows no quad: 5.0 with a silent centre), then the one that shares most of them.
    static func nearest(to given: ChannelLayout, among known: [ChannelLayout]?, ceiling: Int) -> ChannelLayout {
        let candidates = (known ?? [given] + ChannelLayout.named.map(\.layout)).filter { $0.channelCount <= ceiling }
        if candidates.contains(given) { return given }
        let folded = given.sidesAsBacks
        if candidates.contains(folded) { return folded }
        let holding = candidates.filter { $0.mask & folded.mask == folded.mask }
        if let smallest = holding.min(by: { $0.channelCount < $1.channelCount }) { return smallest }
        let shared: (ChannelLayout) -> Int = { ($0.mask & folded.mask).nonzeroBitCount }
        let smaller = candidates.filter { $0.channelCount <= given.channelCount }
        let best = smaller.max { (shared($0), -$0.channelCount) < (shared($1), -$1.channelCount) }
        return best ?? candidates.min { $0.channelCount < $1.channelCount } ?? given
    }

    private mutating func refuseChannels(_ count: Int, _ rule: FormatRule) {
        let counts = rule.layouts.map {
            Set($0.map(\.channelCount)).sorted().map { String($0) }.joined(separator: ", ")
        }
        refuse(
            "channels",
            "\(count)",
            "\(rule.codec.title) in \(rule.container.title) does not take so many",
            allowed: counts ?? "\(rule.channels.lowerBound) to \(rule.channels.upperBound)"
        )
    }

    private mutating func refuseMixing(_ field: String, _ value: String) {
        refuse(
            field,
            value,
            "the source's \(source.channelCount) channels have no layout to mix from",
            allowed: "\(source.channelCount), in a container that takes them"
        )
    }
}

// MARK: - Samples

extension Resolution {
    private mutating func settleDepth(_ rule: FormatRule) -> SampleDepth {
        guard !rule.depths.isEmpty else {
            if let bits = wish.bitDepth {
                refuse("depth", "\(bits)", "\(rule.codec.title) stores no samples", allowed: "none")
            }
            if let kind = wish.sampleKind {
                refuse("kind", kind.rawValue, "\(rule.codec.title) stores no samples", allowed: "none")
            }
            return SampleDepth(32, .float)
        }
        let fitting = rule.depths.filter {
            (wish.bitDepth == nil || $0.bits == wish.bitDepth) && (wish.sampleKind == nil || $0.kind == wish.sampleKind)
        }
        if fitting.isEmpty {
            let value = [wish.bitDepth.map { "\($0)-bit" }, wish.sampleKind?.rawValue].compactMap { $0 }
            refuse(
                wish.bitDepth == nil ? "kind" : "depth",
                value.joined(separator: " "),
                "\(rule.codec.title) in \(rule.container.title) does not take it",
                allowed: rule.depths.map(\.title).joined(separator: ", ")
            )
            return rule.depths[0]
        }
        // A float's 24 bits of significand are what an integer has to hold, and the other way round.
        let kinds = fitting.filter { $0.kind == source.sampleKind }
        if !kinds.isEmpty { return smallest(kinds, holding: source.effectiveBitDepth) }
        let needed = source.sampleKind == .float ? 24 : source.effectiveBitDepth <= 24 ? 32 : 64
        return smallest(fitting, holding: needed)
    }

    private func smallest(_ depths: [SampleDepth], holding bits: Int) -> SampleDepth {
        let ordered = depths.sorted { $0.bits < $1.bits }
        return ordered.first { $0.bits >= bits } ?? ordered[ordered.count - 1]
    }

    private mutating func settleEndianness(_ rule: FormatRule, _ depth: SampleDepth) -> Endianness {
        guard let order = wish.endianness else { return depth.endiannesses.first ?? .little }
        let title = rule.container.title
        if rule.endiannesses.isEmpty {
            refuse("endian", order.rawValue, "\(rule.codec.title) has no byte order to choose", allowed: "none")
        } else if !depth.endiannesses.isEmpty, !depth.endiannesses.contains(order) {
            let only = depth.endiannesses.map(\.rawValue).joined(separator: ", ")
            let other = FormatTable.rules.filter { other in
                other.codec == .pcm
                    && other.depths.contains {
                        $0.bits == depth.bits && $0.kind == depth.kind && $0.endiannesses.contains(order)
                    }
            }
            refuse(
                "endian",
                order.rawValue,
                rule.endiannesses.count == 1
                    ? "\(title) is \(only)-endian" : "\(depth.title) in \(title) is \(only)-endian",
                allowed: only,
                hint: other.isEmpty
                    ? nil
                    : "for \(order.rawValue)-endian \(depth.title) PCM use "
                        + other.map(\.container.title).joined(separator: ", ")
            )
        }
        return order
    }
}

// MARK: - Bits per second, and length

extension Resolution {
    private mutating func settleEffort(
        _ rule: FormatRule,
        sampleRateHz: Int,
        channelCount: Int
    ) -> (bitRate: Int?, quality: Double?) {
        let title = rule.codec.title
        if let quality = wish.quality {
            if let scale = rule.quality {
                if !scale.contains(quality) {
                    refuse(
                        "quality",
                        "\(quality)",
                        "it is off \(title)'s scale",
                        allowed: "\(scale.lowerBound) to \(scale.upperBound)"
                    )
                }
            } else {
                let instead = rule.bitRates == .none ? "none" : "a bit rate"
                refuse("quality", "\(quality)", "\(title) has no scale of quality", allowed: instead)
            }
            return (nil, quality)
        }
        if let bitRate = wish.bitRate ?? wish.bitRatePerChannel, rule.bitRates == .none {
            if rule.quality != nil {
                refuse("bitrate", "\(bitRate)", "\(title) is asked for by quality", allowed: "none; set quality")
            } else {
                refuse(
                    "bitrate",
                    "\(bitRate)",
                    "\(title) keeps every sample, at whatever rate that takes",
                    allowed: "none"
                )
            }
            return (nil, nil)
        }
        if let bitRate = wish.bitRate {
            if !rule.bitRates.contains(bitRate, sampleRateHz: sampleRateHz, channelCount: channelCount) {
                refuse(
                    "bitrate",
                    "\(bitRate)",
                    "\(title) at \(sampleRateHz) Hz with \(channelCount) channels does not take it",
                    allowed: rule.bitRates.title(sampleRateHz: sampleRateHz, channelCount: channelCount)
                )
            }
            return (bitRate, nil)
        }
        if let perChannel = wish.bitRatePerChannel {
            let target = perChannel.multipliedReportingOverflow(by: channelCount)
            let sum = target.overflow ? .max : target.partialValue
            return (rule.bitRates.nearest(to: sum, sampleRateHz: sampleRateHz, channelCount: channelCount), nil)
        }
        return Self.usualEffort(rule, sampleRateHz: sampleRateHz, channelCount: channelCount)
    }

    /// What is taken where nothing is asked: good enough that few will hear a difference.
    ///
    /// MP3 V2 (about 190 kbit/s in stereo), Vorbis 5 (about 160), AAC 64 kbit/s per channel, Opus 64 for mono and
    /// 48 per channel otherwise.
    private static func usualEffort(
        _ rule: FormatRule,
        sampleRateHz: Int,
        channelCount: Int
    ) -> (bitRate: Int?, quality: Double?) {
        let target: Int
        switch rule.codec {
        case .mp3: return (nil, 2)
        case .vorbis: return (nil, 5)
        case .aac: target = 64_000 * channelCount
        case .opus: target = channelCount == 1 ? 64_000 : 48_000 * channelCount
        default: return (nil, nil)
        }
        return (rule.bitRates.nearest(to: target, sampleRateHz: sampleRateHz, channelCount: channelCount), nil)
    }

    private mutating func checkLength(_ format: ResolvedFormat, _ rule: FormatRule) {
        guard let limit = rule.maximumBytes, let sourceFrames = source.frames, source.sampleRateHz > 0 else { return }
        let frames = Double(sourceFrames) * Double(format.sampleRateHz) / Double(source.sampleRateHz)
        guard let estimate = format.estimatedBytes(frames: Int64(frames.rounded(.up))), estimate.bytes > limit else {
            return
        }
        refuse(
            "length",
            "\(estimate.bytes) bytes",
            "\(rule.container.title) cannot hold that much",
            allowed: "at most 4 GB in \(rule.container.title)",
            hint: "use WAV (RF64), W64 or CAF"
        )
    }
}

extension Sequence<String> {
    fileprivate func joined(separator: String, ifEmpty words: String) -> String {
        let text = joined(separator: separator)
        return text.isEmpty ? words : text
    }
}
