/// Every supported pair of output container and codec, with its limits.
///
/// Measured with libav 5.1.9 on Debian 12: the extremes of each row were encoded and read back. Where libav's muxers
/// lose frames at either end, `Media` writes what is missing, so `gapless` states what the container can hold.
public enum FormatTable {
    /// All rows, one per pair.
    public static let rules: [FormatRule] =
        pcmRules + lawRules + losslessRules + lossyRules

    /// `nil` if the container does not take the codec. `copy` has no row: the source's own codec decides.
    public static func rule(_ container: Container, _ codec: Codec) -> FormatRule? {
        rules.first { $0.container == container && $0.codec == codec }
    }

    /// In the order of `Codec`.
    public static func codecs(for container: Container) -> [Codec] {
        Codec.allCases.filter { rule(container, $0) != nil }
    }

    /// The codec for an output that names only its container.
    public static func defaultCodec(for container: Container) -> Codec {
        switch container {
        case .wav, .w64, .aiff, .aifc, .caf, .au, .raw: .pcm
        case .flac, .mka: .flac
        case .m4a, .mp4, .adts: .aac
        case .mp3: .mp3
        case .ogg: .vorbis
        case .webm: .opus
        case .wavpack: .wavpack
        }
    }
}

// MARK: - PCM, mu-law and A-law

extension FormatTable {
    /// The limit of RIFF's 32-bit length fields; AIFF and AU have the same.
    static let fourGigabytes: Int64 = 4_294_967_295

    private static let anyRate = SampleRates.range(1...16_777_215)
    private static let both: [Endianness] = [.little, .big]

    private static func pcm(
        _ container: Container,
        _ depths: [SampleDepth],
        maximumBytes: Int64? = nil,
        note: String? = nil
    ) -> FormatRule {
        FormatRule(
            container: container,
            codec: .pcm,
            rates: anyRate,
            channels: 1...64,
            layouts: nil,
            depths: depths,
            bitRates: .none,
            quality: nil,
            gapless: .exact,
            maximumBytes: maximumBytes,
            note: note
        )
    }

    private static func depths(
        integers: [Int],
        floats: [Int] = [],
        _ orders: [Endianness],
        floatOrders: [Endianness]? = nil
    ) -> [SampleDepth] {
        integers.map { SampleDepth($0, .integer, $0 == 8 ? [] : orders) }
            + floats.map { SampleDepth($0, .float, floatOrders ?? orders) }
    }

    private static let pcmRules: [FormatRule] = [
        pcm(
            .wav,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], [.little]),
            note: "8-bit samples are unsigned; becomes RF64 automatically beyond 4 GB"
        ),
        pcm(
            .w64,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], [.little]),
            note: "8-bit samples are unsigned"
        ),
        pcm(
            .aiff,
            depths(integers: [8, 16, 24, 32], [.big]),
            maximumBytes: fourGigabytes,
            note: "8-bit samples are signed"
        ),
        pcm(
            .aifc,
            [SampleDepth(8), SampleDepth(16, .integer, both)]
                + depths(integers: [24, 32], floats: [32, 64], [.big]),
            maximumBytes: fourGigabytes,
            note: "8-bit samples are unsigned (`raw `); 16-bit little-endian is `sowt`"
        ),
        pcm(
            .caf,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], both),
            note: "8-bit samples are signed"
        ),
        pcm(
            .au,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], [.big]),
            maximumBytes: fourGigabytes,
            note: "8-bit samples are signed; stores no layout"
        ),
        pcm(
            .raw,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], both),
            note:
                "8-bit samples are unsigned; no header: the length follows from the size, and all else must be specified"
        ),
        pcm(
            .mka,
            depths(integers: [8, 16, 24, 32], floats: [32, 64], both, floatOrders: [.little]),
            note: "8-bit samples are unsigned; stores no layout"
        ),
    ]

    /// Two logarithmic codes of 8 bits each, in every container that takes PCM except AIFF.
    private static let lawRules: [FormatRule] = [Codec.ulaw, .alaw].flatMap { law in
        pcmRules.filter { $0.container != .aiff }.map { row in
            FormatRule(
                container: row.container,
                codec: law,
                rates: anyRate,
                channels: 1...64,
                layouts: nil,
                depths: [SampleDepth(8)],
                bitRates: .none,
                quality: nil,
                gapless: .exact,
                maximumBytes: row.maximumBytes,
                note: nil
            )
        }
    }
}

// MARK: - Lossless codecs

extension FormatTable {
    private static let wholeSamples = [SampleDepth(16), SampleDepth(24)]
    /// The layouts that Xiph's formats define, one for each count from 1 to 8.
    static let xiphLayouts = (1...8).compactMap { ChannelLayout.standard(for: $0) }

    private static func lossless(
        _ container: Container,
        _ codec: Codec,
        _ rates: SampleRates,
        _ depths: [SampleDepth],
        layouts: [ChannelLayout]? = nil,
        note: String? = nil
    ) -> FormatRule {
        FormatRule(
            container: container,
            codec: codec,
            rates: rates,
            channels: 1...8,
            layouts: layouts,
            depths: depths,
            bitRates: .none,
            quality: nil,
            gapless: .exact,
            maximumBytes: nil,
            note: note
        )
    }

    private static let flacRates = SampleRates.stepped(every: 1...65_534, step: 10, upTo: 655_340)

    /// libav writes wrong checksums with 8 bits, and WavPack's own decoder plays silence then.
    private static let wavpackDepths = [
        SampleDepth(16), SampleDepth(24), SampleDepth(32), SampleDepth(32, .float),
    ]
    private static let alacLayouts: [ChannelLayout] = [
        .mono, .stereo, .threePointZero, .fourPointZero, .fivePointZero, .fivePointOne, .sixPointOneBack,
        .sevenPointOneWide,
    ]

    private static let losslessRules: [FormatRule] =
        [
            lossless(.flac, .flac, flacRates, wholeSamples),
            lossless(
                .ogg,
                .flac,
                flacRates,
                wholeSamples,
                layouts: xiphLayouts,
                note: "5.0 and 5.1 read back as 5.0(side) and 5.1(side)"
            ),
            lossless(.mka, .flac, flacRates, wholeSamples),
        ]
        + [Container.caf, .m4a, .mp4, .mka].map { lossless($0, .alac, anyRate, wholeSamples, layouts: alacLayouts) }
        + [Container.wavpack, .mka].map { lossless($0, .wavpack, anyRate, wavpackDepths) }
}

// MARK: - Lossy codecs

extension FormatTable {
    private static func lossy(
        _ container: Container,
        _ codec: Codec,
        _ rates: SampleRates,
        layouts: [ChannelLayout],
        _ bitRates: BitRates,
        quality: ClosedRange<Double>? = nil,
        gapless: Gapless = .exact,
        note: String? = nil
    ) -> FormatRule {
        FormatRule(
            container: container,
            codec: codec,
            rates: rates,
            channels: 1...(layouts.map(\.channelCount).max() ?? 1),
            layouts: layouts,
            depths: [],
            bitRates: bitRates,
            quality: quality,
            gapless: gapless,
            maximumBytes: nil,
            note: note
        )
    }

    private static let aacRates = SampleRates.list(
        [7350, 8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000],
        fallback: nil
    )
    private static let mp3Rates = SampleRates.list(
        [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000],
        fallback: nil
    )
    private static let opusRates = SampleRates.list([8000, 12_000, 16_000, 24_000, 48_000], fallback: 48_000)

    private static let aacLayouts: [ChannelLayout] = [
        .mono, .stereo, .twoPointOne, .threePointZero, .quad, .fourPointZero, .fivePointZero, .fivePointOne,
        .sevenPointOne,
    ]

    private static func aac(_ container: Container, gapless: Gapless = .exact) -> FormatRule {
        lossy(
            container,
            .aac,
            aacRates,
            layouts: aacLayouts,
            .perFrame(minimum: 8000, bits: 6144, samples: 1024),
            gapless: gapless,
            note: "2.1 and quad need a program config element, which some players cannot read"
        )
    }

    private static func mp3(_ container: Container) -> FormatRule {
        lossy(
            container,
            .mp3,
            mp3Rates,
            layouts: [.mono, .stereo],
            .mp3,
            quality: 0...9
        )
    }

    private static func opus(_ container: Container, layouts: [ChannelLayout]) -> FormatRule {
        lossy(container, .opus, opusRates, layouts: layouts, .perChannel(minimum: 500, maximum: 256_000))
    }

    private static func vorbis(_ container: Container) -> FormatRule {
        lossy(
            container,
            .vorbis,
            .range(1...200_000),
            layouts: xiphLayouts,
            .none,
            quality: -1...10
        )
    }

    private static let lossyRules: [FormatRule] =
        [
            aac(.m4a),
            aac(.mp4),
            aac(.adts, gapless: .lost(reason: "ADTS cannot store delay and padding")),
            aac(.mka),
            mp3(.mp3),
            mp3(.mka),
            vorbis(.ogg),
            vorbis(.webm),
            vorbis(.mka),
        ]
        + [Container.ogg, .mp4, .webm, .mka].map { opus($0, layouts: xiphLayouts) }
        + [opus(.caf, layouts: [.mono, .stereo])]
}
