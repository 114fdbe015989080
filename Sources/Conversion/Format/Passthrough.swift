/// Copies a source's packets into a new container. Nothing is decoded, so every request about samples is refused.
struct Passthrough {
    let source: AudioShape
    let wish: AudioFormat

    init(of source: AudioShape, as wish: AudioFormat) {
        self.source = source
        self.wish = wish
    }

    func resolved() throws(FormatRefusal) -> ResolvedFormat {
        var reasons = wishes.map { field, value in
            FormatRefusal.Reason(
                field: field,
                value: value,
                why: "passthrough does not change samples",
                allowed: "as the source",
                hint: "name a codec to convert"
            )
        }
        let native = NativeCodec(libavName: source.codecName)
        if let reason = refusal(of: native) { reasons.append(reason) }
        guard reasons.isEmpty else { throw FormatRefusal(reasons: reasons) }
        return ResolvedFormat(
            container: wish.container,
            codec: .copy,
            sampleRateHz: source.sampleRateHz,
            channelCount: source.channelCount,
            layout: source.effectiveLayout,
            bitDepth: source.bitDepth,
            sampleKind: source.sampleKind,
            endianness: native?.endianness ?? .little
        )
    }

    private var wishes: [(String, String)] {
        let all: [(String, String?)] = [
            ("rate", (wish.sampleRateHz ?? wish.maximumSampleRateHz).map { "\($0)" }),
            ("channels", (wish.channelCount ?? wish.maximumChannelCount).map { "\($0)" }),
            ("layout", wish.layout?.description),
            ("depth", wish.bitDepth.map { "\($0)" }),
            ("kind", wish.sampleKind?.rawValue),
            ("dither", wish.dither?.rawValue),
            ("resample", wish.resample?.rawValue),
            ("endian", wish.endianness?.rawValue),
            ("interleaving", wish.interleaving?.rawValue),
            ("bitrate", (wish.bitRate ?? wish.bitRatePerChannel).map { "\($0)" }),
            ("quality", wish.quality.map { "\($0)" }),
        ]
        return all.compactMap { field, value in value.map { (field, $0) } }
    }

    /// Why the container cannot carry the source's packets; `nil` if it can.
    private func refusal(of native: NativeCodec?) -> FormatRefusal.Reason? {
        let container = wish.container
        let takes = FormatTable.codecs(for: container).map(\.rawValue).joined(separator: ", ")
        func reason(_ why: String, _ allowed: String) -> FormatRefusal.Reason {
            .init(field: "codec", value: "copy", why: why, allowed: allowed, hint: "name a codec to convert")
        }
        guard let native, let rule = FormatTable.rule(container, native.codec) else {
            return reason("\(container.title) cannot store the source's \(source.codecName)", takes)
        }
        if native.codec == .pcm, !native.fits(rule) {
            let depths = rule.depths.map { depth in
                ([depth.title] + depth.endiannesses.map { "\($0.rawValue)-endian" }).joined(separator: " ")
            }
            return reason(
                "\(container.title) cannot store the source's \(source.codecName)",
                depths.joined(separator: ", ")
            )
        }
        if let limit = rule.maximumBytes, let frames = source.frames, native.bits > 0 {
            let size = Double(frames) * Double(native.bits / 8 * source.channelCount)
            if size > Double(limit) {
                return .init(
                    field: "length",
                    value: "\(Int64(size)) bytes",
                    why: "\(container.title) cannot store that many bytes",
                    allowed: "at most 4 GB in \(container.title)",
                    hint: "use WAV (RF64), W64 or CAF"
                )
            }
        }
        return nil
    }
}

/// What libav's name of a codec reveals about its packets.
struct NativeCodec {
    var codec: Codec
    /// Bits stored per sample, or 0 if the codec stores no samples.
    var bits = 0
    var kind = SampleKind.integer
    var endianness: Endianness?
    var isSigned = true

    /// `nil` if no container here accepts the codec.
    init?(libavName name: String) {
        switch name {
        case "pcm_mulaw": (codec, bits) = (.ulaw, 8)
        case "pcm_alaw": (codec, bits) = (.alaw, 8)
        case "mp3", "mp3float": codec = .mp3
        case "flac", "alac", "aac", "vorbis", "opus", "wavpack":
            guard let same = Codec(rawValue: name) else { return nil }
            codec = same
        default:
            guard let pcm = Self.pcm(name) else { return nil }
            self = pcm
        }
    }

    private init(pcmBits bits: Int, kind: SampleKind, endianness: Endianness?, isSigned: Bool) {
        codec = .pcm
        self.bits = bits
        self.kind = kind
        self.endianness = endianness
        self.isSigned = isSigned
    }

    /// Parses names such as `pcm_s24be`.
    private static func pcm(_ name: String) -> NativeCodec? {
        let prefix = "pcm_"
        guard name.hasPrefix(prefix) else { return nil }
        var rest = name.dropFirst(prefix.count)
        guard let letter = rest.popFirst(), "suf".contains(letter) else { return nil }
        let bits = Int(rest.prefix { $0.isNumber }) ?? 0
        let order: Endianness? = rest.hasSuffix("le") ? .little : rest.hasSuffix("be") ? .big : nil
        guard [8, 16, 24, 32, 64].contains(bits), order != nil || (bits == 8 && rest == "8") else { return nil }
        return NativeCodec(
            pcmBits: bits,
            kind: letter == "f" ? .float : .integer,
            endianness: order,
            isSigned: letter != "u"
        )
    }

    /// Whether a container's rule accepts these samples unchanged.
    func fits(_ rule: FormatRule) -> Bool {
        if kind == .integer, isSigned != (bits == 8 ? rule.container.eightBitIsSigned : true) { return false }
        return rule.depths.contains { depth in
            depth.bits == bits && depth.kind == kind && (endianness.map { depth.endiannesses.contains($0) } ?? true)
        }
    }
}
