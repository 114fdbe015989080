import Conversion
import TestSupport
import Testing

@Suite struct FormatTableTests {
    // MARK: The whole table

    @Test func everyContainerTakesItsDefaultCodec() {
        for container in Container.allCases {
            #expect(FormatTable.rule(container, FormatTable.defaultCodec(for: container)) != nil, "\(container)")
        }
    }

    @Test func noPairStandsTwiceAndNoneIsPassthrough() {
        let pairs = FormatTable.rules.map { "\($0.container) \($0.codec)" }
        #expect(Set(pairs).count == pairs.count)
        #expect(FormatTable.rules.allSatisfy { $0.codec != .copy })
    }

    @Test func everyCodecButPassthroughIsWrittenSomewhere() {
        let written = Set(FormatTable.rules.map(\.codec))
        #expect(written == Set(Codec.allCases).subtracting([.copy]))
    }

    @Test func codecsOfAContainerComeInTheOrderOfTheirList() {
        #expect(FormatTable.codecs(for: .ogg) == [.flac, .vorbis, .opus])
        #expect(FormatTable.codecs(for: .m4a) == [.alac, .aac])
        #expect(FormatTable.codecs(for: .aiff) == [.pcm])
        #expect(FormatTable.codecs(for: .mka) == Codec.allCases.filter { $0 != .copy })
    }

    @Test func layoutsOfARuleHaveAllowedCounts() {
        for rule in FormatTable.rules {
            for layout in rule.layouts ?? [] { #expect(rule.channels.contains(layout.channelCount)) }
        }
    }

    @Test func onlyADTSLosesTheLength() {
        let lossy = FormatTable.rules.filter { $0.gapless != .exact }
        #expect(lossy.map(\.container) == [.adts])
    }

    // MARK: Extensions

    @Test func everyExtensionNamesItsContainerAndNoOther() {
        for container in Container.allCases {
            for name in container.fileExtensions {
                #expect(Container.forFileExtension(name)?.0 == container)
                #expect(Container.forFileExtension(".\(name.uppercased())")?.0 == container)
            }
        }
    }

    @Test func extensionOpusNamesTheCodecToo() throws {
        let opus = try #require(Container.forFileExtension("opus"))
        #expect(opus == (.ogg, .opus))
        let ogg = try #require(Container.forFileExtension("ogg"))
        #expect(ogg == (.ogg, nil))
        #expect(Container.forFileExtension("txt") == nil)
        #expect(Container.forFileExtension("") == nil)
    }

    // MARK: Rates

    @Test(arguments: [1, 44_100, 35_467, 65_534, 65_540, 96_000, 192_000, 384_000, 655_340])
    func flacTakesTheRatesItsHeaderCanHold(rate: Int) throws {
        #expect(try #require(FormatTable.rule(.flac, .flac)).rates.contains(rate))
    }

    @Test(arguments: [0, 65_535, 65_536, 96_001, 655_350, 768_000])
    func flacRefusesTheRatesItsHeaderCannotHold(rate: Int) throws {
        #expect(try !#require(FormatTable.rule(.flac, .flac)).rates.contains(rate))
    }

    @Test(arguments: [(44_100, 32_000...320_000), (24_000, 8000...160_000), (12_000, 8000...64_000)])
    func bitRatesOfMP3DependOnItsVersion(rate: Int, bounds: ClosedRange<Int>) throws {
        let rule = try #require(FormatTable.rule(.mp3, .mp3))
        #expect(rule.bitRates.bounds(sampleRateHz: rate, channelCount: 2) == bounds)
    }

    @Test func bitRatesOfMP3AreThoseOfTheStandardOnly() throws {
        // LAME accepts 144000 at 44.1 kHz and silently writes 128000.
        let rule = try #require(FormatTable.rule(.mp3, .mp3))
        #expect(!rule.bitRates.contains(144_000, sampleRateHz: 44_100, channelCount: 2))
        #expect(rule.bitRates.contains(144_000, sampleRateHz: 22_050, channelCount: 2))
    }

    @Test(arguments: [(48_000, 2, 576_000), (44_100, 1, 264_600), (8000, 1, 48_000)])
    func bitRatesOfAACEndAt6144BitsPerFrameAndChannel(rate: Int, channels: Int, cap: Int) throws {
        let rule = try #require(FormatTable.rule(.m4a, .aac))
        #expect(rule.bitRates.contains(cap, sampleRateHz: rate, channelCount: channels))
        #expect(!rule.bitRates.contains(cap + 1, sampleRateHz: rate, channelCount: channels))
    }

    @Test(arguments: [(1, 256_000), (2, 512_000), (8, 2_048_000)])
    func bitRatesOfOpusGrowWithItsChannels(channels: Int, cap: Int) throws {
        let rule = try #require(FormatTable.rule(.ogg, .opus))
        #expect(rule.bitRates.bounds(sampleRateHz: 48_000, channelCount: channels) == 500...cap)
    }

    // MARK: The page

    // A single test for both, because both rewrite the same file.
    @Test func pageShowsTheTableAndThePresets() throws {
        #expect(
            try GeneratedPage.difference(of: "formats.md", from: FormatTable.markdown, between: "<!-- formats: ") == nil
        )
        #expect(try GeneratedPage.difference(of: "formats.md", from: Preset.markdown, between: "<!-- presets: ") == nil)
    }
}
