import Conversion
import TestSupport
import Testing

/// What specs say at their limits.
struct AudioSpecTests {
    private typealias Quantity = SpecRule.Quantity

    /// A file that a spec accepts, which each test changes.
    private struct Facts {
        var container = "mp3"
        var codec = "mp3"
        var rate = 44_100
        var channels = 1
        var stated: Int? = 192_000
        var frames: Int64 = 44_100 * 60
        var loudness = LoudnessReport(integratedLUFS: -20, samplePeakDBFS: -4, truePeakDBTP: -3.5)
        var levels = LevelReport(
            rmsDBFS: -20,
            loudestSecond: .init(levelDBFS: -15, start: MediaTime(value: 12, timescale: 10)),
            noiseFloor: .init(levelDBFS: -70, start: MediaTime(value: 3, timescale: 10)),
            peakAt: MediaTime(frames: 60_000, rate: 44_100),
            toneAtStart: MediaTime(value: 70, timescale: 100),
            toneAtEnd: MediaTime(value: 3, timescale: 1)
        )
        var packets: (lowest: Int?, highest: Int?) = (192_000, 192_000)
        var damage = DamageReport()
        /// What was decoded, if it is not as the track says.
        var decoded: (rates: ClosedRange<Int>?, channels: ClosedRange<Int>?) = (nil, nil)

        var report: SourceReport {
            var track = TrackReport(
                track: 0,
                isMain: true,
                codec: codec,
                sampleRateHz: rate,
                channelCount: channels,
                layout: nil,
                bitDepth: nil,
                sampleKind: nil,
                isLossless: false,
                bitRate: stated,
                frames: frames,
                exactness: .exact,
                delayFrames: nil,
                paddingFrames: nil,
                isProtected: false
            )
            (track.lowestBitRate, track.highestBitRate) = packets
            (track.decodedSampleRatesHz, track.decodedChannelCounts) = decoded
            var report = SourceReport(
                container: container,
                tracks: [track],
                tags: [],
                chapters: [],
                cover: nil,
                isProtected: false,
                scan: ScanReport(frames: frames, damage: damage),
                loudness: loudness
            )
            report.levels = levels
            report.levels?.length = MediaTime(frames: frames, rate: rate)
            return report
        }
    }

    /// The rules of `spec` that a changed file breaks.
    private func broken(_ spec: AudioSpec, _ change: (inout Facts) -> Void = { _ in }) -> [Quantity] {
        var facts = Facts()
        change(&facts)
        let verdict = spec.verdict(on: facts.report)
        #expect(verdict.passes == verdict.broken.isEmpty && verdict.rules.map(\.rule) == spec.rules.map(\.quantity))
        return verdict.broken.map(\.rule)
    }

    @Test func acxAcceptsAFileAtEachLimitAndNotBehindIt() {
        #expect(broken(.acx).isEmpty)
        for level in [-23.0, -18.0, -23.004, -17.996] { #expect(broken(.acx) { $0.levels.rmsDBFS = level }.isEmpty) }
        for level in [-23.01, -17.99, -200.0] { #expect(broken(.acx) { $0.levels.rmsDBFS = level } == [.rms]) }
        #expect(broken(.acx) { $0.loudness.samplePeakDBFS = -3 }.isEmpty)
        #expect(broken(.acx) { $0.loudness.samplePeakDBFS = -2.99 } == [.samplePeak])
        let noise = { (level: Double) in broken(.acx) { $0.levels.noiseFloor?.levelDBFS = level } }
        #expect(noise(-60).isEmpty && noise(-59.99) == [.noiseFloor])
        #expect(broken(.acx) { $0.frames = 44_100 * 7_200 }.isEmpty)
        #expect(broken(.acx) { $0.frames = 44_100 * 7_200 + 441 } == [.length])
    }

    @Test func acxLimitsTheRoomToneAtBothEnds() {
        for (hundredths, isAllowed) in [(49, false), (50, true), (100, true), (101, false)] {
            let found = broken(.acx) { $0.levels.toneAtStart = MediaTime(value: Int64(hundredths), timescale: 100) }
            #expect(found == (isAllowed ? [] : [.toneAtStart]), "\(hundredths)")
        }
        for (hundredths, isAllowed) in [(99, false), (100, true), (500, true), (501, false)] {
            let found = broken(.acx) { $0.levels.toneAtEnd = MediaTime(value: Int64(hundredths), timescale: 100) }
            #expect(found == (isAllowed ? [] : [.toneAtEnd]), "\(hundredths)")
        }
    }

    @Test func acxAsksForMP3OfAConstantRate() {
        #expect(broken(.acx) { ($0.container, $0.codec) = ("wav", "pcm_s16le") } == [.container, .codec])
        #expect(broken(.acx) { $0.container = "matroska" } == [.container])
        #expect(broken(.acx) { $0.rate = 48_000 } == [.sampleRate])
        #expect(broken(.acx) { $0.channels = 2 }.isEmpty)
        #expect(broken(.acx) { $0.channels = 3 } == [.channels])
        #expect(broken(.acx) { $0.packets.highest = 320_000 } == [.bitRateMode])
        #expect(broken(.acx) { $0.packets.lowest = 160_000 } == [.bitRate, .bitRateMode])
        // A header that states a rate does not say that it is constant.
        let stated = broken(.acx) { $0.packets = (nil, nil) }
        #expect(stated == [.bitRateMode])
    }

    @Test func librivoxAsksForItsFormatAndLoudness() {
        func file(_ change: (inout Facts) -> Void = { _ in }) -> [Quantity] {
            broken(.librivox) { facts in
                facts.packets = (128_000, 128_000)
                change(&facts)
            }
        }
        #expect(file().isEmpty)
        #expect(file { $0.channels = 2 } == [.channels])
        #expect(file { $0.packets = (192_000, 192_000) } == [.bitRate])
        for level in [-21.0, -16.0] { #expect(file { $0.loudness.integratedLUFS = level }.isEmpty) }
        for level: Double? in [-21.01, -15.99, nil] {
            #expect(file { $0.loudness.integratedLUFS = level } == [.loudness])
        }
    }

    @Test func theOthersLimitLoudnessAndTruePeak() {
        func broken(_ spec: AudioSpec, _ loudness: Double?, _ peak: Double?) -> [Quantity] {
            self.broken(spec) { ($0.loudness.integratedLUFS, $0.loudness.truePeakDBTP) = (loudness, peak) }
        }
        for (level, isAllowed) in [(-23.2, true), (-23.21, false), (-22.8, true), (-22.79, false)] {
            #expect(broken(.ebuR128, level, -1) == (isAllowed ? [] : [.loudness]), "\(level)")
        }
        #expect(broken(.ebuR128, -23, -0.99) == [.truePeak])
        for (level, isAllowed) in [(-17.0, true), (-17.01, false), (-15.0, true), (-14.99, false)] {
            #expect(broken(.applePodcast, level, -1) == (isAllowed ? [] : [.loudness]), "\(level)")
        }
        #expect(broken(.spotify, -14, -1).isEmpty && broken(.spotify, -13.9, -1).isEmpty)
        // What is louder needs more room.
        #expect(broken(.spotify, -13.89, -1) == [.truePeak] && broken(.spotify, -13.89, -2).isEmpty)
        #expect(broken(.spotify, -15.01, -1) == [.loudness])
        // Silence has no loudness, and no peak that is too high. Where a sample is no number, the peak is unknown.
        let silent = self.broken(.ebuR128) { facts in
            facts.loudness = LoudnessReport()
            facts.levels.rmsDBFS = LevelReport.silenceDBFS
        }
        #expect(silent == [.loudness])
        #expect(broken(.ebuR128, nil, nil) == [.loudness, .truePeak])
    }

    @Test func appleTakesItsFormatsFrom44100Hz() {
        func broken(_ change: (inout Facts) -> Void) -> [Quantity] {
            self.broken(.applePodcast) { facts in
                facts.loudness.integratedLUFS = -16
                change(&facts)
            }
        }
        for codec in ["mp3", "aac", "flac", "pcm_s24le"] { #expect(broken { $0.codec = codec }.isEmpty) }
        for codec in ["opus", "pcm_u8", "pcm_f32le", "pcm_s32le", "pcm_mulaw", "pcm_alaw"] {
            #expect(broken { $0.codec = codec } == [.codec], "\(codec)")
        }
        #expect(broken { $0.rate = 96_000 }.isEmpty && broken { $0.rate = 22_050 } == [.sampleRate])
    }

    @Test func verdictsSayWhereToListen() throws {
        let verdict = AudioSpec.acx.verdict(on: Facts().report)
        func rule(_ quantity: Quantity) throws -> RuleVerdict {
            try #require(verdict.rules.first { $0.rule == quantity })
        }
        let rms = try rule(.rms)
        #expect(rms.place == .loudestSecond && rms.at == MediaTime(value: 12, timescale: 10))
        #expect(try rule(.noiseFloor).at == MediaTime(value: 3, timescale: 10))
        #expect(try rule(.samplePeak).at == MediaTime(frames: 60_000, rate: 44_100))
        #expect(try rule(.toneAtStart).at == MediaTime(value: 70, timescale: 100))
        // Three seconds before the end.
        #expect(try rule(.toneAtEnd).at == MediaTime(value: 57, timescale: 1))
        #expect(try rule(.codec).at == nil && rule(.codec).place == nil)
    }

    /// The header says what the first part of the file is.
    @Test func filesThatChangeInTheMiddleAreJudgedByAllTheirParts() throws {
        #expect(broken(.acx) { $0.decoded.rates = 44_100...48_000 } == [.sampleRate])
        #expect(broken(.acx) { $0.decoded.rates = 22_050...44_100 } == [.sampleRate])
        // What a header states and no part has does not count.
        let decoded = broken(.acx) { ($0.rate, $0.decoded.rates) = (22_050, 44_100...44_100) }
        #expect(decoded.isEmpty)
        #expect(broken(.acx) { $0.decoded.channels = 1...2 }.isEmpty)
        #expect(broken(.acx) { $0.decoded.channels = 1...6 } == [.channels])
        var facts = Facts()
        (facts.packets, facts.decoded.channels) = ((128_000, 128_000), 1...2)
        let verdict = AudioSpec.librivox.verdict(on: facts.report)
        #expect(verdict.broken.map(\.measured) == ["2"])
    }

    /// Silence in place of damage keeps limits that the sound would break.
    @Test func damageIsNeverAPass() {
        var facts = Facts()
        facts.damage = DamageReport(frames: 0, stretchCount: 1)
        let verdict = AudioSpec.acx.verdict(on: facts.report)
        #expect(!verdict.passes && verdict.broken.isEmpty && verdict.isDamaged == true)
        let whole = AudioSpec.acx.verdict(on: Facts().report)
        #expect(whole.passes && whole.isDamaged == nil)
    }

    @Test func aFileOfWhichNothingIsKnownKeepsNoLimit() {
        let report = SourceReport(
            container: "mov",
            tracks: [],
            tags: [],
            chapters: [],
            cover: nil,
            isProtected: true
        )
        for spec in AudioSpec.allCases {
            #expect(spec.verdict(on: report).broken.count == spec.rules.count)
        }
    }

    @Test func figuresAndLimitsHaveTheirUnits() throws {
        let verdict = AudioSpec.acx.verdict(on: Facts().report)
        let lines = verdict.rules.map { "\($0.rule.title): \($0.measured), \($0.limit)" }
        #expect(
            lines == [
                "container: mp3, mp3", "codec: mp3, mp3", "sample rate: 44.1 kHz, 44.1 kHz", "channels: 1, 1 to 2",
                "bit rate: 192k, at least 192k", "bit rate mode: constant, constant",
                "length: 1:00, at most 2:00:00", "RMS: -20.00 dBFS, -23 to -18 dBFS",
                "sample peak: -4.00 dBFS, at most -3 dBFS", "noise floor: -70.00 dBFS, at most -60 dBFS",
                "room tone at start: 0.70 s, 0.5 to 1 s", "room tone at end: 3.00 s, 1 to 5 s",
            ]
        )
        var silent = Facts()
        silent.levels.noiseFloor?.levelDBFS = LevelReport.silenceDBFS
        silent.levels.toneAtEnd = nil
        let words = AudioSpec.acx.verdict(on: silent.report).rules.map(\.measured)
        #expect(words.contains("silence") && words.last == "unknown")
    }

    /// What a job keeps.
    @Test func aReportHasTheMeasuredValuesWithoutTheLimits() throws {
        let report = SpecReport(AudioSpec.acx.verdict(on: Facts().report))
        #expect(report.line == "acx: accepted, RMS -20.0 dBFS, sample peak -4.0 dBFS, noise floor -70.0 dBFS")
        #expect(report.measured.map(\.rule) == AudioSpec.acx.rules.map(\.quantity.rawValue))
        #expect(report.measured.first == SpecReport.Measured(rule: "container", word: "mp3"))
        var other = report
        (other.passes, other.measured) = (false, [.init(rule: "of a later release", value: 1)])
        #expect(other.line == "acx: refused")
    }

    // MARK: Recipes

    private func recipe(_ output: String, version: Int = 4) throws -> Recipe {
        try Recipe(
            json: #"{"version":\#(version),"sources":[{"location":"a.wav"}],"#
                + #""outputs":[{"location":"b.mp3"\#(output)}]}"#
        )
    }

    @Test func aSpecIsReadAndWrittenAsVersion4() throws {
        let recipe = try recipe(#","spec":"apple-podcast""#)
        try recipe.validate()
        #expect(recipe.outputs[0].spec == .applePodcast && recipe.version == 4)
        let json = try recipe.json()
        #expect(json.contains(#""spec":"apple-podcast""#) && json.contains(#""version":4"#))
        #expect(try Recipe(json: json) == recipe)
        let old = try #require(throws: RecipeError.self) { try self.recipe(#","spec":"acx""#, version: 3) }
        #expect(old.path == "recipe.outputs[0].spec" && old.reason.hasPrefix("needs version 4 of recipes"))
    }

    @Test func otherSpecsAndThoseOfWaveformsAreRefused() throws {
        let unknown = try #require(throws: RecipeError.self) { try recipe(#","spec":"audible""#) }
        #expect(unknown.reason == "\"audible\"; allowed: acx, librivox, ebu-r128, apple-podcast, spotify")
        var drawn = Recipe(from: .init(location: "a.wav"), to: .init(location: "b.png", waveform: .init()))
        drawn.outputs[0].spec = .acx
        let refused = try #require(throws: RecipeError.self) { try drawn.validate() }
        #expect(refused.path == "recipe.outputs[0].spec")
    }

    @Test func aPresetOfUsersMayHaveASpec() throws {
        let text =
            #"{"version":4,"sources":[{"location":"{source}"}],"#
            + #""outputs":[{"location":"{stem}.{ext}","format":{"container":"mp3"},"spec":"acx"}]}"#
        let preset = try OwnPreset(PresetReference(name: "book"), json: Array(text.utf8))
        #expect(preset.output(at: "b.mp3").spec == .acx && preset.summary.contains("spec acx"))
    }

    @Test func pageShowsTheTable() throws {
        #expect(
            try GeneratedPage.difference(of: "specs.md", from: AudioSpec.markdown, between: "<!-- specs: ") == nil
        )
    }
}
