import Conversion
import Testing

@Suite struct PresetTests {
    @Test(arguments: [AudioFormatTests.cd, AudioFormatTests.studio, AudioFormatTests.phone])
    func everyPresetResolvesForEverySource(source: AudioShape) throws {
        for preset in Preset.all {
            #expect(throws: Never.self, "\(preset.name)") { try preset.format.resolved(for: source) }
        }
    }

    @Test func namesAreDistinctAndSummariesAreOneLine() {
        #expect(Set(Preset.all.map(\.name)).count == Preset.all.count)
        #expect(Preset.all.allSatisfy { !$0.summary.isEmpty && !$0.summary.contains("\n") })
    }

    @Test func everyPresetIsFoundByItsName() throws {
        for preset in Preset.all { #expect(try Preset.named(preset.name.uppercased()) == preset) }
    }

    @Test(
        arguments: [
            ("mp3-v00", ["mp3-v0"]), ("podcast-pm3", ["podcast-mp3"]), ("opus96", ["opus-96"]), ("zzzzz", []),
            ("apple", ["apple-m4a"]),
        ] as [(String, [String])]
    )
    func unknownNameGetsThoseThatBeginWithItOrTheNearestOne(name: String, suggestions: [String]) throws {
        let error = try #require(throws: UnknownPreset.self) { try Preset.named(name) }
        #expect(error.suggestions == suggestions)
        let meant = suggestions.map { "\"\($0)\"" }.joined(separator: " or ")
        let words = meant.isEmpty ? "known: wav, caf, aiff" : "did you mean \(meant)?"
        #expect(error.description.hasPrefix("unknown preset \"\(name)\"; \(words)"))
    }

    @Test(
        arguments: [
            ("opus-96", "webm", Container.webm), ("opus-96", "wav", .ogg), ("opus-96", nil, .ogg), ("wav", "caf", .caf),
            ("archive-flac", "mka", .mka), ("passthrough", "m4a", .m4a), ("passthrough", "xyz", .mka),
            ("podcast-mp3", "mp3", .mp3),
        ] as [(String, String?, Container)]
    )
    func presetFollowsTheExtensionWhereItsCodecFits(name: String, fileExtension: String?, container: Container) throws {
        let preset = try Preset.named(name)
        let format = preset.format(forExtension: fileExtension)
        #expect(format.container == container)
        #expect(format.codec == preset.format.codec)
    }

    // MARK: Resolved formats

    private func made(_ name: String, from source: AudioShape = AudioFormatTests.studio) throws -> ResolvedFormat {
        try Preset.named(name).format.resolved(for: source)
    }

    @Test func speechIs16kHzMono16Bit() throws {
        let format = try made("speech-16k")
        #expect((format.sampleRateHz, format.layout, format.bitDepth) == (16_000, .mono, 16))
    }

    @Test func telephonyIs8kHzMonoMuLaw() throws {
        let format = try made("telephony-ulaw-8k")
        #expect((format.codec, format.sampleRateHz, format.layout) == (.ulaw, 8000, .mono))
    }

    @Test(arguments: [("acx", 192_000), ("librivox", 128_000)])
    func audiobooksAreMonoAt44100HzAndOneBitRate(name: String, bitRate: Int) throws {
        for source in [AudioFormatTests.cd, AudioFormatTests.studio, AudioFormatTests.phone] {
            let format = try made(name, from: source)
            #expect((format.container, format.codec, format.sampleRateHz) == (.mp3, .mp3, 44_100))
            #expect((format.layout, format.bitRate, format.quality) == (.mono, bitRate, nil))
        }
    }

    @Test func appleIs256kStereoAt44100HzAndSmallerForSmallerSources() throws {
        let large = try made("apple-m4a")
        #expect((large.sampleRateHz, large.layout, large.bitRate) == (44_100, .stereo, 256_000))
        let small = try made("apple-m4a", from: AudioFormatTests.phone)
        #expect((small.sampleRateHz, small.layout, small.bitRate) == (8000, .mono, 48_000))
    }

    @Test func archiveKeepsDepthAndChannels() throws {
        let format = try made("archive-flac")
        #expect((format.bitDepth, format.layout, format.sampleRateHz) == (24, .fivePointOne, 48_000))
    }

    // MARK: Fields that override a preset

    @Test func wishReplacesWhatSaysTheSameInAnotherWay() throws {
        let preset = try Preset.named("mp3-v0").format
        let changed = preset.overridden(by: AudioFormat(container: .mp3, bitRate: 192_000))
        #expect((changed.bitRate, changed.quality) == (192_000, nil))
        let apple = try Preset.named("apple-m4a").format
        let wide = apple.overridden(by: AudioFormat(container: .m4a, sampleRateHz: 48_000, layout: .fivePointOne))
        #expect((wide.sampleRateHz, wide.maximumSampleRateHz, wide.maximumChannelCount) == (48_000, nil, nil))
        #expect(wide.bitRatePerChannel == 128_000)
    }

    @Test func newCodecTakesNothingFromTheOld() throws {
        let preset = try Preset.named("podcast-mp3").format
        let opus = preset.overridden(by: AudioFormat(container: .ogg, codec: .opus, sampleRateHz: 48_000))
        #expect((opus.codec, opus.bitRate, opus.sampleRateHz) == (.opus, nil, 48_000))
    }
}
