/// What is known of a track before anything is decoded, as far as it decides which formats fit.
public struct SourceFacts: Sendable, Hashable {
    public var shape: AudioShape
    /// Whether the track is encrypted.
    public var isProtected: Bool
    /// The file's own name for the codec of an encrypted track.
    public var fourCC: String
    /// Whether Sluice has a decoder for the codec.
    public var isDecoded: Bool

    public init(_ shape: AudioShape, isProtected: Bool, fourCC: String, isDecoded: Bool) {
        (self.shape, self.isProtected, self.fourCC, self.isDecoded) = (shape, isProtected, fourCC, isDecoded)
    }

    /// From the description of a track, without its length.
    public init(_ track: TrackReport) {
        let lossy = ReadableFormats.depth(ofLossy: track.codec)
        let shape = AudioShape(
            sampleRateHz: track.sampleRateHz,
            channelCount: track.channelCount,
            layout: track.layout.flatMap(ChannelLayout.init),
            bitDepth: track.bitDepth ?? lossy.bits,
            sampleKind: track.sampleKind ?? lossy.kind,
            codecName: track.codec,
            isLossless: track.isLossless
        )
        self.init(
            shape,
            isProtected: track.isProtected,
            fourCC: track.codec,
            isDecoded: ReadableFormats.reads(codec: track.codec)
        )
    }

    /// Settles every open field of `format` for the track. Throws one refusal that lists every reason.
    public func resolved(_ format: AudioFormat) throws(FormatRefusal) -> ResolvedFormat {
        if let reason = undecodableReason, format.codec != .copy || isProtected {
            throw FormatRefusal(reasons: [reason])
        }
        return try format.resolved(for: shape)
    }

    /// Why a reader would refuse to decode the track; `nil` if it would not.
    private var undecodableReason: FormatRefusal.Reason? {
        if isProtected {
            return .init(
                field: "source",
                value: fourCC,
                why: "the track is encrypted",
                allowed: "none",
                hint: FailureCode.protectedContent.advice
            )
        }
        if !isDecoded {
            return .init(
                field: "source",
                value: shape.codecName,
                why: "this codec is not supported",
                allowed: "passthrough",
                hint: "convert it with the program that created it"
            )
        }
        if shape.codecName == "flac", shape.bitDepth > 24 {
            return .init(
                field: "source",
                value: "\(shape.bitDepth)-bit FLAC",
                why: "libav 5.1 decodes FLAC of at most 24 bits",
                allowed: "passthrough",
                hint: FailureCode.unsupportedBitDepth.advice
            )
        }
        if shape.sampleRateHz <= 0 || shape.channelCount <= 0 {
            return .init(
                field: "source",
                value: shape.codecName,
                why: "the track has no valid sample rate or channel count",
                allowed: "none"
            )
        }
        return nil
    }
}

extension ResolvedFormat {
    /// What the sound of the output would lack of `source`, apart from what only decoding tells, such as clipping.
    public func losses(of source: AudioShape) -> [Remark.Kind] {
        var losses: [Remark.Kind] = []
        let layout = source.layout ?? .discrete(source.channelCount)
        // Copied packets hold what they held, but another container may not say which channel is which.
        guard codec != .copy else {
            var native = self
            native.codec = NativeCodec(libavName: source.codecName)?.codec ?? .copy
            return source.layout.map(native.loses) == true ? [.layoutLost] : []
        }
        if let mix = ChannelMix(from: layout, to: self.layout), !mix.source.isDiscrete {
            if !mix.target.isDiscrete, !mix.keepsEveryChannel { losses.append(.channelsMixed) }
            if loses(mix.target) { losses.append(.layoutLost) }
        }
        if source.isLossless, isLossless, !holdsSamples(of: source) { losses.append(.depthReduced) }
        return losses
    }

    /// Whether the container cannot store the positions of the channels. One and two are mono and stereo everywhere.
    public func loses(_ layout: ChannelLayout) -> Bool {
        guard !layout.isDiscrete, layout.channelCount > 2 else { return false }
        return !storesLayout || namesOnlySpeakersOfWAVE && !layout.isInWAVE
    }

    /// Whether the container has the channel mask of WAVE, or names no more speakers than it.
    private var namesOnlySpeakersOfWAVE: Bool { [.wav, .w64, .caf, .aiff, .aifc].contains(container) }

    private func holdsSamples(of source: AudioShape) -> Bool {
        switch (source.sampleKind, sampleKind) {
        case (.integer, .integer), (.float, .float): bitDepth >= source.bitDepth
        // The bits of a float's fraction.
        case (.integer, .float): (bitDepth >= 64 ? 53 : 24) >= source.bitDepth
        case (.float, .integer): false
        }
    }
}

extension ReadableFormats {
    /// Whether some file of a kind that is read may hold the codec, given libav's name for it.
    public static func reads(codec name: String) -> Bool {
        NativeCodec(libavName: name) != nil || readOnly.contains { $0.codec == name }
    }

    /// One-bit sound, which needs 24 bits as PCM.
    private static let oneBit: Set<String> = ["dsd_lsbf", "dsd_msbf", "dsd_lsbf_planar", "dsd_msbf_planar"]

    /// The depth of a lossy codec. Descriptions do not state it: only codecs that store a sample in each byte have one.
    public static func depth(ofLossy name: String) -> SampleDepth {
        if oneBit.contains(name) { return SampleDepth(24, .integer) }
        let bits = NativeCodec(libavName: name)?.bits ?? 0
        return SampleDepth(bits > 0 ? bits : 16, .integer)
    }
}
