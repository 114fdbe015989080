import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Conversions to a loudness: the output has it, by libebur128's own measurement of what the output decodes to.
@Suite struct LoudnessConversionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Noise whose level wanders, with a true peak of about -10 dBTP.
    private func music(rate: Int = 48_000, channels: Int = 2, seconds: Int = 12, amplitude: Double = 0.2) -> Signal {
        Signal.noise(seed: 3, rate: rate, frames: seconds * rate, channels: channels, amplitude: amplitude).swelling()
    }

    private func convert(
        _ pcm: PCM,
        _ format: AudioFormat,
        _ goal: LoudnessGoal?,
        ranges: [MediaTimeRange] = [],
        refusesLoss: Bool = false
    ) throws -> (pcm: PCM, outcome: Converter.Outcome) {
        let (input, output) = (folder.path("in.wav"), folder.path("out"))
        try WAVFile.write(pcm, to: input)
        let outcome = try run(input, to: output, format, goal, ranges: ranges, refusesLoss: refusesLoss)
        return (try FFmpeg.decode(output, to: .f64), outcome)
    }

    private func run(
        _ input: String,
        to output: String,
        _ format: AudioFormat,
        _ goal: LoudnessGoal?,
        ranges: [MediaTimeRange] = [],
        refusesLoss: Bool = false,
        budget: Budget = Budget(),
        report: Pump.Report? = nil
    ) throws -> Converter.Outcome {
        var request = Converter.Request(format: format, ranges: ranges, verifies: true, nameHint: input)
        request.loudness = goal
        request.refusesLoss = refusesLoss
        request.budget = budget
        let source = try OpenFile.reading(input)
        let destination = try OpenFile.creating(output)
        return try Converter(request).run(from: source.descriptor, to: destination.descriptor, report: report)
    }

    private func goal(_ target: String, truePeak: Double = -1) throws -> LoudnessGoal {
        LoudnessGoal(
            target: try #require(LoudnessGoal.Target(target)),
            truePeak: .init(hundredths: Int(truePeak * 100))
        )
    }

    private func reference(_ pcm: PCM) throws -> ReferenceLoudness {
        try ReferenceLoudness(
            Signal(rate: pcm.rate, channels: (0..<pcm.channels).map { pcm.samples(channel: $0) })
        )
    }

    // MARK: Exactness

    @Test(arguments: [PCM.SampleFormat.s16, .s24, .f32], ["-23LUFS", "-19.5LUFS", "-31LUFS"])
    func outputHasTheLoudness(source: PCM.SampleFormat, target: String) throws {
        let formats = [
            AudioFormat(container: .flac, codec: .flac, bitDepth: 16),
            AudioFormat(container: .wav, codec: .pcm, bitDepth: 24),
            AudioFormat(container: .wav, codec: .pcm, bitDepth: 32, sampleKind: .float),
        ]
        for format in formats {
            let (pcm, outcome) = try convert(music().pcm(source), format, goal(target))
            let change = try #require(outcome.loudness)
            let found = try reference(pcm)
            #expect(abs(found.integrated - change.targetLUFS) <= 0.1, "\(found.integrated)")
            #expect(abs(found.integrated - (try #require(change.reachedLUFS))) <= 0.02)
            #expect(change.limitedFrames == 0)
            #expect(!outcome.remarks.contains { $0.kind == .loudnessMissed || $0.kind == .samplesClipped })
        }
    }

    /// The range, the mix and the rate of the output are measured, not those of the whole source.
    @Test func whatIsEncodedIsMeasured() throws {
        let soft = music(rate: 44_100, channels: 1, seconds: 6, amplitude: 0.05)
        let loud = music(rate: 44_100, channels: 1, seconds: 6, amplitude: 0.6)
        let signal = Signal.stacked([loud.followed(by: soft), soft.followed(by: soft)])
        let range = try MediaTimeRange(startingAt: MediaTime(value: 6, timescale: 1))
        let format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 48_000, channelCount: 1, bitDepth: 16)
        let (pcm, outcome) = try convert(signal.pcm(.s16), format, goal("-23"), ranges: [range])
        #expect(pcm.frames == 6 * 48_000 && pcm.channels == 1)
        #expect(abs(try reference(pcm).integrated + 23) <= 0.1)
        #expect(outcome.remarks.contains { $0.kind == .channelsMixed })
        #expect(outcome.sourceFrames == 6 * 44_100)
    }

    @Test func podcastsInMonoAreThreeLUSofter() throws {
        let format = AudioFormat(container: .wav, codec: .pcm, bitDepth: 24)
        let one = try convert(music(channels: 1).pcm(.s24), format, goal("podcast", truePeak: 0))
        #expect(abs(try reference(one.pcm).integrated + 19) <= 0.1)
        let two = try convert(music(amplitude: 0.1).pcm(.s24), format, goal("podcast", truePeak: 0))
        #expect(abs(try reference(two.pcm).integrated + 16) <= 0.1)
    }

    @Test func lossyOutputsHaveTheLoudness() throws {
        for format in [AudioFormat(container: .mp3, quality: 0), AudioFormat(container: .m4a, bitRate: 256_000)] {
            let tone = Signal.tone(440, rate: 48_000, frames: 480_000, channels: 2, amplitude: 0.05)
            let (pcm, _) = try convert(tone.pcm(.s16), format, goal("-20"))
            #expect(abs(try reference(pcm).integrated + 20) <= 0.1)
        }
    }

    /// Low bit rates leave out high frequencies, which count in noise.
    @Test func whatAnEncoderLeavesOutIsTold() throws {
        for format in [AudioFormat(container: .mp3, bitRate: 64_000), AudioFormat(container: .mp3, quality: 0)] {
            let (pcm, outcome) = try convert(music().pcm(.s16), format, goal("-23"))
            let (found, change) = (try reference(pcm), try #require(outcome.loudness))
            let encoded = try #require(change.encodedLUFS)
            #expect(abs(found.integrated - encoded) <= 0.05)
            let isOff = abs(encoded - (try #require(change.reachedLUFS))) > 0.3
            #expect(outcome.remarks.contains { $0.kind == .loudnessMissed } == isOff)
            if format.bitRate != nil { #expect(isOff, "\(encoded)") }
        }
        let lossless = AudioFormat(container: .flac, bitDepth: 16)
        #expect(try convert(music().pcm(.s16), lossless, goal("-23")).outcome.loudness?.encodedLUFS == nil)
    }

    /// It is measured without `--verify`, which the report then does not claim.
    @Test func measuringTheOutputIsNoVerification() throws {
        try WAVFile.write(music(seconds: 2).pcm(.s16), to: folder.path("in.wav"))
        var request = Converter.Request(format: AudioFormat(container: .mp3, bitRate: 64_000))
        request.loudness = try goal("-23")
        let source = try OpenFile.reading(folder.path("in.wav"))
        let destination = try OpenFile.creating(folder.path("out.mp3"))
        let outcome = try Converter(request).run(from: source.descriptor, to: destination.descriptor)
        #expect(outcome.verified == nil && outcome.loudness?.encodedLUFS != nil)
    }

    // MARK: Limits

    @Test func loudTargetsAreLimitedAndTold() throws {
        let format = AudioFormat(container: .wav, codec: .pcm, bitDepth: 24)
        let (pcm, outcome) = try convert(music().pcm(.s24), format, goal("-6"))
        let (found, change) = (try reference(pcm), try #require(outcome.loudness))
        #expect(20 * log10(found.truePeak) <= -1 + 0.05)
        #expect(change.limitedFrames > 0 && change.largestReductionDB > 1)
        #expect(abs(found.integrated - (try #require(change.reachedLUFS))) <= 0.05)
        let told = try #require(outcome.remarks.first { $0.kind == .loudnessMissed })
        #expect(
            told.detail.hasPrefix("limiting true peaks to -1.0 dBTP left -") && told.detail.hasSuffix("of -6.0 LUFS")
        )
        #expect(told.count == change.limitedFrames && !told.kind.isLoss)
        #expect(!outcome.remarks.contains { $0.kind == .samplesClipped })
    }

    /// A few clicks are limited, and the target is reached all the same.
    @Test func rarePeaksDoNotCostTheTarget() throws {
        var channels = music(seconds: 20, amplitude: 0.1).channels
        for place in stride(from: 10_000, to: 900_000, by: 400_000) { channels[0][place] = 0.5 }
        let pcm = Signal(rate: 48_000, channels: channels).pcm(.f32)
        let format = AudioFormat(container: .flac, codec: .flac, bitDepth: 24)
        let (output, outcome) = try convert(pcm, format, goal("-16"))
        let found = try reference(output)
        #expect(abs(found.integrated + 16) <= 0.1 && 20 * log10(found.truePeak) <= -0.95)
        #expect(try #require(outcome.loudness).limitedFrames > 0)
        #expect(!outcome.remarks.contains { $0.kind == .loudnessMissed })
    }

    // MARK: Ends

    @Test func silenceAndShortSoundsKeepTheirLevel() throws {
        let format = AudioFormat(container: .wav, codec: .pcm)
        for signal in [
            Signal.silence(rate: 48_000, frames: 96_000, channels: 2),
            Signal.tone(1_000, rate: 48_000, frames: 4_800, channels: 2, amplitude: 0.25),
            Signal.tone(1_000, rate: 48_000, frames: 1, channels: 2, amplitude: 0.25),
        ] {
            let source = signal.pcm(.s16)
            let (pcm, outcome) = try convert(source, format, goal("-16"))
            #expect(pcm == source.converted(to: .f64))
            #expect(try #require(outcome.loudness).gainDB == 0)
            let told = try #require(outcome.remarks.first { $0.kind == .loudnessUnmeasured })
            #expect(told.detail.contains("too quiet or too short"))
        }
    }

    @Test func samplesThatAreNoNumbersAreRefused() throws {
        var channels = music().channels
        channels[0][100_000] = .nan
        let pcm = Signal(rate: 48_000, channels: channels).pcm(.f32)
        let format = AudioFormat(container: .flac, codec: .flac)
        #expect(Converted.code { _ = try self.convert(pcm, format, self.goal("-16")) } == .encodeFailed)
    }

    @Test func pipesAndCopiesAreRefused() throws {
        let pcm = Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16)
        let pipe = try FilledPipe.holding(WAVFile.bytes(pcm))
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: "a.wav")
        request.loudness = try goal("-16")
        let converter = Converter(request)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let code = Converted.code { _ = try converter.run(from: pipe.reading, to: output.descriptor) }
        #expect(code == .sourceNotSeekable)
        let copy = AudioFormat(container: .wav, codec: .copy)
        #expect(Converted.code { _ = try self.convert(pcm, copy, self.goal("-16")) } == .passthroughRefused)
    }

    // MARK: Accounts

    @Test func onlyARealLossOfDepthIsTold() throws {
        let format = AudioFormat(container: .flac, codec: .flac, bitDepth: 16)
        let same = try convert(music().pcm(.s16), format, goal("-20"), refusesLoss: true).outcome
        #expect(!same.remarks.contains { $0.kind == .depthReduced })
        let deep = try convert(music().pcm(.s24), format, goal("-20")).outcome
        #expect(deep.remarks.first { $0.kind == .depthReduced }?.detail == "24 bits to 16, dithered")
        #expect(
            Converted.code {
                _ = try self.convert(self.music().pcm(.s24), format, self.goal("-20"), refusesLoss: true)
            } == .lossRefused
        )
    }

    @Test func theSameSourceGivesTheSameBytes() throws {
        try WAVFile.write(music(amplitude: 0.9).pcm(.s16), to: folder.path("in.wav"))
        let format = AudioFormat(container: .flac, codec: .flac, sampleRateHz: 44_100)
        for name in ["a", "b"] { _ = try run(folder.path("in.wav"), to: folder.path(name), format, goal("-9")) }
        #expect(try Bytes.read(folder.path("a")) == Bytes.read(folder.path("b")))
    }

    /// A gain of zero leaves whole samples as they are.
    @Test func aSourceThatHasTheLoudnessKeepsItsSamples() throws {
        let tone = Signal.tone(1_000, rate: 48_000, frames: 480_000, channels: 2, amplitude: pow(10, -23.0 / 20))
        let (first, _) = try convert(tone.pcm(.s16), AudioFormat(container: .wav, bitDepth: 16), goal("-23"))
        #expect(first.frames == 480_000)
        #expect(abs(try reference(first).integrated + 23) <= 0.02)
    }

    @Test func tagsAboutTheOldLoudnessAreDropped() throws {
        let input = folder.path("in.flac")
        let names = ["replaygain_track_gain", "REPLAYGAIN_TRACK_PEAK", "replaygain_album_gain", "R128_TRACK_GAIN"]
        let tags = (names + ["iTunNORM", "title"]).flatMap { ["-metadata", "\($0)=1"] }
        try FFmpeg.encode(music(seconds: 2).pcm(.s16), to: input, tags)
        let format = AudioFormat(container: .flac, codec: .flac)
        let changed = folder.path("changed.flac")
        let outcome = try run(input, to: changed, format, goal("-16"))
        #expect(try self.names(ofTagsIn: changed).subtracting(["encoder"]) == ["title"])
        #expect(outcome.summary.lostTags.isEmpty)
        let kept = folder.path("kept.flac")
        _ = try run(input, to: kept, format, nil)
        #expect(
            Set(names.map { $0.lowercased() } + ["title"]).isSubset(of: try self.names(ofTagsIn: kept))
        )
    }

    private func names(ofTagsIn path: String) throws -> Set<String> {
        Set(try FFmpeg.probe(path).tags.keys.map { $0.lowercased() })
    }

    @Test func progressTellsBothPasses() throws {
        let (input, output) = (folder.path("in.wav"), folder.path("out"))
        try WAVFile.write(music().pcm(.s16), to: input)
        var seen: [Pump.Progress] = []
        _ = try run(input, to: output, AudioFormat(container: .flac), goal("-16")) { seen.append($0) }
        let measured = seen.prefix { $0.frames == 0 }
        #expect(
            measured.count >= 10 && measured.allSatisfy { $0.measuredFrames ?? 0 > 0 && $0.totalFrames == 12 * 48_000 }
        )
        let rest = seen.dropFirst(measured.count).filter { $0.verifiedFrames == nil }
        #expect(rest.count >= 10 && rest.allSatisfy { $0.measuredFrames == 12 * 48_000 && $0.frames > 0 })
        #expect(zip(rest, rest.dropFirst()).allSatisfy { $0.position < $1.position && $0.position >= .zero })
    }

    @Test func theFirstPassKeepsTheBudget() throws {
        let (input, output) = (folder.path("in.wav"), folder.path("out"))
        try WAVFile.write(music().pcm(.s16), to: input)
        let code = Converted.code {
            let format = AudioFormat(container: .flac)
            _ = try self.run(input, to: output, format, self.goal("-16"), budget: Budget(decodedSeconds: 5))
        }
        #expect(code == .decodedSecondsExceeded)
        #expect(try Bytes.read(output).isEmpty)
    }
}
