import Conversion
import Testing

@Suite struct AudioFormatTests {
    static let cd = AudioShape(
        sampleRateHz: 44_100,
        channelCount: 2,
        layout: .stereo,
        bitDepth: 16,
        codecName: "pcm_s16le",
        isLossless: true
    )
    static let studio = AudioShape(
        sampleRateHz: 48_000,
        channelCount: 6,
        layout: .fivePointOne,
        bitDepth: 24,
        codecName: "pcm_s24le",
        isLossless: true
    )
    static let phone = AudioShape(
        sampleRateHz: 8000,
        channelCount: 1,
        layout: .mono,
        bitDepth: 8,
        codecName: "pcm_u8",
        isLossless: true
    )

    /// The refusal of `format` for `source`. The test fails if there is none.
    private func refusal(
        _ format: AudioFormat,
        for source: AudioShape = cd,
        at location: SourceLocation = #_sourceLocation
    ) throws -> FormatRefusal {
        try #require(throws: FormatRefusal.self, sourceLocation: location) { try format.resolved(for: source) }
    }

    private func shape(
        _ codecName: String = "pcm_f32le",
        rate: Int = 44_100,
        bits: Int = 32,
        _ kind: SampleKind = .float,
        layout: ChannelLayout? = .stereo,
        channels: Int = 2,
        isLossless: Bool = true,
        frames: Int64? = nil
    ) -> AudioShape {
        AudioShape(
            sampleRateHz: rate,
            channelCount: layout?.channelCount ?? channels,
            layout: layout,
            bitDepth: bits,
            sampleKind: kind,
            codecName: codecName,
            isLossless: isLossless,
            frames: frames
        )
    }

    // MARK: Refusals

    @Test func littleEndianAIFFIsRefusedInOneSentence() throws {
        let refusal = try refusal(AudioFormat(container: .aiff, endianness: .little))
        #expect(refusal.description == "endian little: AIFF is big-endian; allowed: big")
        let hint: String = try #require(refusal.reasons[0].hint)
        #expect(hint.contains("WAV"))
        #expect(hint.contains("AIFC"))
    }

    @Test func everyWrongFieldIsNamedAtOnce() throws {
        let format = AudioFormat(
            container: .aiff,
            channelCount: 65,
            bitDepth: 64,
            sampleKind: .float,
            endianness: .little,
            interleaving: .planar,
            bitRate: 128_000
        )
        let fields = try refusal(format).reasons.map(\.field)
        #expect(Set(fields) == ["interleaving", "channels", "depth", "endian", "bitrate"])
    }

    @Test func planarIsRefusedByEveryContainer() throws {
        for container in Container.allCases {
            let refusal = try refusal(AudioFormat(container: container, interleaving: .planar))
            #expect(refusal.reasons.map(\.field) == ["interleaving"])
            #expect(refusal.reasons[0].allowed == "interleaved")
        }
    }

    @Test func foreignCodecIsRefusedWithThoseThatFit() throws {
        let reason = try refusal(AudioFormat(container: .webm, codec: .mp3)).reasons[0]
        #expect(reason.description == "codec mp3: WebM cannot store MP3; allowed: vorbis, opus")
        #expect(reason.hint == "MP3 can be stored in MP3, Matroska")
    }

    @Test(arguments: [
        (AudioFormat(container: .ogg, codec: .opus, sampleRateHz: 44_100), "8000, 12000, 16000, 24000, 48000")
    ])
    func rateOfOpusIsRefusedWithItsFive(format: AudioFormat, allowed: String) throws {
        let reason = try refusal(format).reasons[0]
        #expect((reason.field, reason.value, reason.allowed) == ("rate", "44100", allowed))
    }

    @Test func thirdChannelOfMP3IsRefused() throws {
        let reason = try refusal(AudioFormat(container: .mp3, channelCount: 3)).reasons[0]
        #expect((reason.field, reason.value, reason.allowed) == ("channels", "3", "1, 2"))
    }

    @Test func rateOfMP3IsRefusedWithItsNine() throws {
        let reason = try refusal(AudioFormat(container: .mp3, sampleRateHz: 96_000)).reasons[0]
        #expect(reason.allowed == "8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000")
    }

    @Test(
        arguments: [(8, SampleKind.float), (16, .float), (24, .float), (64, .integer), (12, nil)]
            as [(Int, SampleKind?)]
    )
    func depthThatNoContainerHasIsRefused(bits: Int, kind: SampleKind?) throws {
        for container in Container.allCases where FormatTable.rule(container, .pcm) != nil {
            let refusal = try refusal(
                AudioFormat(container: container, codec: .pcm, bitDepth: bits, sampleKind: kind)
            )
            #expect(refusal.reasons.map(\.field) == ["depth"])
        }
    }

    @Test func bitRateAboveTheCapOfAACIsRefusedWithTheCap() throws {
        let format = AudioFormat(container: .m4a, sampleRateHz: 8000, channelCount: 1, bitRate: 64_000)
        let reason = try refusal(format).reasons[0]
        #expect((reason.field, reason.allowed) == ("bitrate", "8000 to 48000"))
    }

    @Test func bitRateOfALosslessCodecIsRefused() throws {
        for container in [Container.wav, .flac, .wavpack] {
            let reason = try refusal(AudioFormat(container: container, bitRate: 128_000)).reasons[0]
            #expect((reason.field, reason.allowed) == ("bitrate", "none"))
        }
        #expect(try refusal(AudioFormat(container: .wav, quality: 5)).reasons[0].field == "quality")
    }

    @Test func bitRateAndQualityTogetherAreRefused() throws {
        let reasons = try refusal(AudioFormat(container: .mp3, bitRate: 128_000, quality: 2)).reasons
        #expect(reasons.map(\.description) == ["bitrate 128000: quality is set as well; allowed: one of the two"])
    }

    @Test(arguments: [(Container.mp3, -0.5), (.mp3, 9.5), (.ogg, -1.5), (.ogg, 10.5), (.mp3, .nan)])
    func qualityOffTheScaleIsRefused(container: Container, quality: Double) throws {
        #expect(try refusal(AudioFormat(container: container, quality: quality)).reasons[0].field == "quality")
    }

    @Test func layoutAndChannelCountHaveToAgree() throws {
        let reason = try refusal(AudioFormat(container: .wav, channelCount: 2, layout: .fivePointOne)).reasons[0]
        #expect(reason.description == "layout 5.1: it has 6 channels, but channels is 2; allowed: stereo")
    }

    @Test func layoutThatACodecDoesNotKnowIsRefused() throws {
        let reason = try refusal(AudioFormat(container: .ogg, codec: .opus, layout: .twoPointOne)).reasons[0]
        #expect(reason.field == "layout")
        #expect(reason.allowed == "mono, stereo, 3.0, quad, 5.0, 5.1, 6.1, 7.1")
    }

    // MARK: Length

    @Test func aiffThatWouldPass4GBIsRefusedBeforeItIsWritten() throws {
        let frames: Int64 = 1_073_741_824
        for container in [Container.aiff, .aifc, .au] {
            let reason = try refusal(
                AudioFormat(container: container),
                for: shape("pcm_s16le", bits: 16, .integer, frames: frames)
            )
            .reasons[0]
            #expect(reason.field == "length")
            #expect(reason.allowed == "at most 4 GB in \(container.title)")
            #expect(reason.hint == "use WAV (RF64), W64 or CAF")
        }
        for container in [Container.wav, .w64, .caf] {
            let source = shape("pcm_s16le", bits: 16, .integer, frames: frames)
            #expect(throws: Never.self) { try AudioFormat(container: container).resolved(for: source) }
        }
    }

    @Test func lengthIsThatOfTheOutputNotOfTheSource() throws {
        let frames: Int64 = 800_000_000
        let source = shape("pcm_s16le", bits: 16, .integer, frames: frames)
        #expect(throws: Never.self) { try AudioFormat(container: .aiff).resolved(for: source) }
        let reason = try refusal(AudioFormat(container: .aiff, sampleRateHz: 88_200), for: source).reasons[0]
        #expect(reason.value == "6400000054 bytes")
    }

    @Test func lastByteThatAIFFCanCountIsTaken() throws {
        let header: Int64 = 54
        let frames = (4_294_967_295 - header) / 4
        let fits = shape("pcm_s16le", bits: 16, .integer, frames: frames)
        #expect(throws: Never.self) { try AudioFormat(container: .aiff).resolved(for: fits) }
        let passes = shape("pcm_s16le", bits: 16, .integer, frames: frames + 1)
        #expect(try refusal(AudioFormat(container: .aiff), for: passes).reasons.map(\.field) == ["length"])
    }

    // MARK: Open fields

    @Test func openFormatKeepsTheSource() throws {
        let format = try AudioFormat(container: .wav).resolved(for: Self.studio)
        #expect(format.sampleRateHz == 48_000)
        #expect(format.layout == .fivePointOne)
        #expect((format.bitDepth, format.sampleKind, format.endianness) == (24, .integer, .little))
        #expect(format.isLossless)
    }

    @Test(arguments: [
        (Container.mp3, Codec.mp3, 44_101, 48_000), (.mp3, .mp3, 96_000, 48_000), (.mp3, .mp3, 7000, 8000),
        (.m4a, .aac, 44_101, 48_000), (.m4a, .aac, 192_000, 96_000), (.ogg, .opus, 44_100, 48_000),
        (.ogg, .opus, 11_025, 48_000), (.ogg, .opus, 16_000, 16_000), (.ogg, .opus, 192_000, 48_000),
        (.flac, .flac, 35_467, 35_467), (.flac, .flac, 96_001, 96_010), (.flac, .flac, 768_000, 655_340),
        (.ogg, .vorbis, 384_000, 200_000), (.m4a, .alac, 384_000, 384_000),
    ])
    func openRateIsTheNearestFromTheSourceUp(container: Container, codec: Codec, source: Int, rate: Int) throws {
        let format = AudioFormat(container: container, codec: codec)
        #expect(try format.resolved(for: shape(rate: source)).sampleRateHz == rate)
    }

    @Test func openRateIsOneAtWhichTheBitRateExists() throws {
        let format = AudioFormat(container: .mp3, bitRate: 128_000)
        #expect(try format.resolved(for: Self.phone).sampleRateHz == 16_000)
    }

    @Test func openRateIsNotLoweredForTheSakeOfABitRate() throws {
        let reason = try refusal(AudioFormat(container: .mp3, bitRate: 144_000)).reasons[0]
        #expect(reason.field == "bitrate")
        #expect(reason.hint == "144000 exists at 16000, 22050, 24000 Hz")
    }

    @Test(arguments: [
        (Container.wav, 8, SampleKind.integer, 8, SampleKind.integer), (.wav, 20, .integer, 24, .integer),
        (.wav, 32, .float, 32, .float), (.wav, 64, .float, 64, .float), (.aiff, 32, .float, 24, .integer),
        (.aiff, 8, .integer, 8, .integer), (.flac, 32, .float, 24, .integer), (.flac, 8, .integer, 16, .integer),
        (.flac, 12, .integer, 16, .integer), (.flac, 32, .integer, 24, .integer), (.flac, 64, .float, 24, .integer),
        (.wavpack, 32, .float, 32, .float), (.wavpack, 64, .float, 32, .float), (.wavpack, 32, .integer, 32, .integer),
        (.mp3, 16, .integer, 32, .float),
    ])
    func openDepthIsTheSmallestThatHoldsTheSource(
        container: Container,
        bits: Int,
        kind: SampleKind,
        depth: Int,
        as stored: SampleKind
    ) throws {
        let format = try AudioFormat(container: container).resolved(for: shape(bits: bits, kind))
        #expect((format.bitDepth, format.sampleKind) == (depth, stored))
    }

    @Test(arguments: [(16, 32), (24, 32), (32, 64)])
    func integersThatAreToBeFloatsGetAllTheirBits(bits: Int, depth: Int) throws {
        let format = AudioFormat(container: .wav, sampleKind: .float)
        #expect(try format.resolved(for: shape(bits: bits, .integer)).bitDepth == depth)
    }

    @Test func muLawSourceCountsAs16Bits() throws {
        let source = shape("pcm_mulaw", rate: 8000, bits: 8, .integer, layout: .mono, isLossless: false)
        #expect(try AudioFormat(container: .wav).resolved(for: source).bitDepth == 16)
    }

    @Test(arguments: [
        (Container.mp3, ChannelLayout.fivePointOne, ChannelLayout.stereo), (.mp3, .mono, .mono),
        (.caf, .fivePointOneSide, .fivePointOneSide), (.mp4, .fivePointOneSide, .fivePointOne),
        (.m4a, .sevenPointOne, .sevenPointOne), (.m4a, .sixPointOne, .fivePointOne),
    ])
    func openLayoutIsTheNearestThatTheCodecKnows(container: Container, from: ChannelLayout, to: ChannelLayout) throws {
        #expect(try AudioFormat(container: container).resolved(for: shape(layout: from)).layout == to)
    }

    @Test func layoutThatHoldsEverySpeakerIsNearerThanAMix() throws {
        let alac = AudioFormat(container: .m4a, codec: .alac)
        #expect(try alac.resolved(for: shape(layout: .quad)).layout == .fivePointZero)
        #expect(try alac.resolved(for: shape(layout: .sevenPointOne)).layout == .fivePointOne)
    }

    @Test func unpositionedChannelsGetPositionsOnlyWhereTheCodecHasTo() throws {
        let wav = AudioFormat(container: .wav)
        #expect(try wav.resolved(for: shape(layout: nil, channels: 6)).layout == .discrete(6))
        #expect(try wav.resolved(for: shape(layout: nil, channels: 2)).layout == .stereo)
        #expect(try wav.resolved(for: shape(layout: nil, channels: 1)).layout == .mono)
        let flac = AudioFormat(container: .flac)
        #expect(try flac.resolved(for: shape(layout: nil, channels: 3)).layout == .threePointZero)
        #expect(try flac.resolved(for: shape(layout: nil, channels: 4)).layout == .quad)
        let alac = AudioFormat(container: .m4a, codec: .alac)
        #expect(try alac.resolved(for: shape(layout: nil, channels: 4)).layout == .fourPointZero)
        let named = AudioFormat(container: .wav, layout: .fourPointZero)
        #expect(try named.resolved(for: shape(layout: nil, channels: 4)).layout == .fourPointZero)
        let sixteen = try AudioFormat(container: .wav).resolved(for: shape(layout: nil, channels: 16))
        #expect(sixteen.layout == .discrete(16))
        let reason = try refusal(AudioFormat(container: .mp3), for: shape(layout: nil, channels: 16)).reasons[0]
        #expect(reason.why == "the layout of the source's 16 channels is unknown, so they cannot be mixed")
        let fewer = try refusal(AudioFormat(container: .wav, channelCount: 2), for: shape(layout: nil, channels: 4))
        #expect(
            fewer.reasons[0].description.hasPrefix(
                "channels 2: the layout of the source's 4 channels is unknown, so they cannot be mixed"
            )
        )
        #expect(fewer.reasons[0].hint?.contains("--layout quad") == true)
    }

    @Test func ceilingsLowerAndNeverRaise() throws {
        let format = AudioFormat(
            container: .m4a,
            bitRatePerChannel: 128_000,
            maximumSampleRateHz: 44_100,
            maximumChannelCount: 2
        )
        let lowered = try format.resolved(for: Self.studio)
        #expect((lowered.sampleRateHz, lowered.channelCount, lowered.bitRate) == (44_100, 2, 256_000))
        let kept = try format.resolved(for: Self.phone)
        #expect((kept.sampleRateHz, kept.channelCount, kept.bitRate) == (8000, 1, 48_000))
    }

    @Test func lossyCodecsHaveTheirUsualBitRates() throws {
        #expect(try AudioFormat(container: .mp3).resolved(for: Self.cd).quality == 2)
        #expect(try AudioFormat(container: .ogg).resolved(for: Self.cd).quality == 5)
        #expect(try AudioFormat(container: .m4a).resolved(for: Self.cd).bitRate == 128_000)
        #expect(try AudioFormat(container: .webm).resolved(for: Self.cd).bitRate == 96_000)
        #expect(try AudioFormat(container: .webm).resolved(for: Self.phone).bitRate == 64_000)
    }

    @Test func everyRuleResolvesForEverySource() throws {
        let sources = [Self.cd, Self.studio, Self.phone, shape(rate: 192_000, bits: 64)]
        for rule in FormatTable.rules {
            for source in sources {
                let format = try AudioFormat(container: rule.container, codec: rule.codec).resolved(for: source)
                #expect(rule.rates.contains(format.sampleRateHz))
                #expect(rule.layouts?.contains(format.layout) ?? true)
                #expect(format.layout.channelCount == format.channelCount)
                let isStored = rule.depths.contains { $0.bits == format.bitDepth && $0.kind == format.sampleKind }
                #expect(isStored || rule.depths.isEmpty)
            }
        }
    }

    // MARK: Passthrough

    @Test func passthroughKeepsEverything() throws {
        let source = shape("mp3", bits: 16, .integer, isLossless: false)
        let format = try AudioFormat(container: .mka, codec: .copy).resolved(for: source)
        #expect((format.codec, format.sampleRateHz, format.layout) == (.copy, 44_100, .stereo))
    }

    @Test func passthroughRefusesEveryWishForTheSamples() throws {
        let format = AudioFormat(
            container: .mka,
            codec: .copy,
            sampleRateHz: 8000,
            channelCount: 1,
            bitDepth: 16,
            bitRate: 64_000
        )
        let reasons = try refusal(format).reasons
        #expect(reasons.map(\.field) == ["rate", "channels", "depth", "bitrate"])
        #expect(reasons[0].why == "passthrough does not change samples")
    }

    @Test(arguments: [
        (Container.webm, "mp3"), (.aiff, "pcm_s16le"), (.wav, "pcm_s8"), (.aiff, "pcm_u8"), (.mka, "wmav2"),
        (.wav, "pcm_s24be"), (.mp3, "aac"),
    ])
    func passthroughIsRefusedWhereTheContainerDoesNotTakeThePackets(container: Container, codecName: String) throws {
        let reasons = try refusal(AudioFormat(container: container, codec: .copy), for: shape(codecName)).reasons
        #expect(reasons.map(\.value) == ["copy"])
        #expect(reasons[0].why.contains(codecName))
    }

    @Test(arguments: [
        (Container.aiff, "pcm_s16be", Endianness.big), (.wav, "pcm_u8", .little), (.caf, "pcm_f32be", .big),
        (.au, "pcm_mulaw", .little), (.m4a, "alac", .little), (.ogg, "opus", .little),
    ])
    func passthroughGoesWhereThePacketsFit(container: Container, codecName: String, order: Endianness) throws {
        let format = try AudioFormat(container: container, codec: .copy).resolved(for: shape(codecName))
        #expect(format.endianness == order)
    }

    // MARK: Sizes

    @Test(arguments: [
        (Container.wav, Codec.pcm, 16, 2, 44_100, 4080), (.wav, .pcm, 24, 2, 96_000, 6104),
        (.wav, .pcm, 8, 1, 44_100, 1080),
        (.wav, .ulaw, 8, 1, 8000, 1094), (.aiff, .pcm, 16, 2, 44_100, 4054), (.aiff, .pcm, 16, 6, 44_100, 12_074),
        (.w64, .pcm, 16, 2, 44_100, 4104), (.w64, .pcm, 16, 2, 96_000, 4128), (.caf, .pcm, 32, 2, 44_100, 8092),
        (.au, .pcm, 16, 2, 44_100, 4032), (.raw, .pcm, 16, 2, 44_100, 4000), (.aifc, .alaw, 8, 2, 8000, 2072),
    ])
    func sizeOfPCMIsKnownToTheByte(
        container: Container,
        codec: Codec,
        bits: Int,
        channels: Int,
        rate: Int,
        bytes: Int
    ) throws {
        let format = AudioFormat(
            container: container,
            codec: codec,
            sampleRateHz: rate,
            channelCount: channels,
            bitDepth: bits
        )
        let estimate = try #require(try format.resolved(for: Self.cd).estimatedBytes(frames: 1000))
        #expect(estimate == (Int64(bytes), .exact))
    }

    @Test func headerOfFloatsDependsOnLibAV() throws {
        for (container, long, short) in [(Container.wav, 116, 94), (.w64, 160, 144)] as [(Container, Int64, Int64)] {
            let floats = AudioFormat(container: container, bitDepth: 32, sampleKind: .float)
            let format = try floats.resolved(for: Self.cd)
            #expect(format.headerBytes(floats: .long) == long && format.headerBytes(floats: .short) == short)
            #expect(format.estimatedBytes(frames: 8, floats: .short)?.bytes == short + 64)
        }
    }

    @Test func oddDataIsPadded() throws {
        let mono8 = AudioFormat(container: .wav, channelCount: 1, bitDepth: 8)
        #expect(try mono8.resolved(for: Self.cd).estimatedBytes(frames: 1001)?.bytes == 80 + 1001 + 1)
        let w64 = AudioFormat(container: .w64, channelCount: 1, bitDepth: 8)
        #expect(try w64.resolved(for: Self.cd).estimatedBytes(frames: 1001)?.bytes == 104 + 1008)
    }

    // Sizes of files that ffmpeg 5.1.9 wrote: 60 s of stereo, and 1 s at 8 kHz.
    @Test(arguments: [
        (44_100, 128_000, 2_646_000, 960_932), (44_100, 320_000, 2_646_000, 2_402_264), (8000, 64_000, 8000, 9837),
    ])
    func sizeOfMP3AtAConstantBitRateIsKnownWithin2Percent(rate: Int, bitRate: Int, frames: Int, bytes: Int) throws {
        let format = AudioFormat(container: .mp3, sampleRateHz: rate, bitRate: bitRate)
        let estimate = try #require(try format.resolved(for: Self.cd).estimatedBytes(frames: Int64(frames)))
        #expect(estimate.exactness == .within(percent: 2))
        #expect(abs(estimate.bytes - Int64(bytes)) * 50 <= Int64(bytes))
    }

    @Test(arguments: [Container.flac, .ogg, .m4a, .webm, .wavpack])
    func sizeThatOnlyEncodingCanTellIsNotGuessed(container: Container) throws {
        #expect(try AudioFormat(container: container).resolved(for: Self.cd).estimatedBytes(frames: 1000) == nil)
    }

    // MARK: Layouts

    @Test func layoutIsWrittenByNameOrMaskAndReadBack() {
        for (name, layout) in ChannelLayout.named {
            #expect(layout.description == name)
            #expect(ChannelLayout(name) == layout)
        }
        #expect(ChannelLayout("0x603")?.channelCount == 4)
        #expect(ChannelLayout("discrete 16") == .discrete(16))
        #expect(ChannelLayout("surround") == nil)
        #expect(ChannelLayout(mask: 0) == nil)
    }
}
