import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// A downmix has the same level whatever its codec, and never exceeds full scale.
@Suite struct MixLevelTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    struct Output: CustomTestStringConvertible, Sendable {
        let format: AudioFormat
        var testDescription: String { "\(format.codec!.rawValue) in \(format.container)" }
        /// How much a codec may change the level of a steady tone, in dB.
        var tolerance: Double { format.codec!.isLossless ? 0.1 : 0.5 }

        static let mono: [Output] = [
            (Container.wav, Codec.pcm), (.flac, .flac), (.wavpack, .wavpack), (.m4a, .alac), (.mp3, .mp3),
            (.ogg, .opus), (.ogg, .vorbis), (.m4a, .aac), (.wav, .ulaw),
        ].map {
            // At its default bit rate, AAC attenuates a tone by half a decibel.
            Output(format: AudioFormat(container: $0.0, codec: $0.1, bitRate: $0.1 == .aac ? 192_000 : nil))
        }
    }

    private static let frames = 48_000

    /// The same tone on every channel; by default at full scale.
    private func source(_ layout: ChannelLayout, _ format: PCM.SampleFormat = .s16, amplitude: Double = 1) throws
        -> String
    {
        let path = folder.path("source.wav")
        let tone = Signal.tone(997, rate: 48_000, frames: Self.frames, amplitude: amplitude)
        let all = Signal.stacked([Signal](repeating: tone, count: layout.channelCount))
        try WAVFile.write(
            all.pcm(format),
            to: path,
            options: .init(isExtensible: true, channelMask: UInt32(layout.mask))
        )
        return path
    }

    /// The tone's level in dB relative to a full-scale sine, decoded by `ffmpeg` to floats, which may exceed it.
    private func levels(_ path: String) throws -> [Double] {
        let pcm = try FFmpeg.decode(path, to: .f32)
        return try pcm.cut(pcm.frames / 4..<pcm.frames * 3 / 4).rms.map { 20 * log10($0 * 2.0.squareRoot()) }
    }

    @Test(arguments: Output.mono, [PCM.SampleFormat.s16, .s24, .f32])
    func stereoToMonoKeepsACorrelatedToneAtItsLevel(output: Output, depth: PCM.SampleFormat) throws {
        var format = output.format
        format.channelCount = 1
        let path = folder.path("out." + format.container.fileExtensions[0])
        let outcome = try Converted.file(try source(.stereo, depth), to: path, as: format)
        let found = try levels(path)
        #expect(found.allSatisfy { abs($0) < output.tolerance }, "\(found)")
        #expect(
            outcome.remarks.first { $0.kind == .channelsMixed }?.detail
                == "stereo was mixed to mono, front channels at -6.0 dB"
        )
    }

    @Test(arguments: Output.mono) func surroundToMonoIsAsLoudEverywhere(output: Output) throws {
        var format = output.format
        format.channelCount = 1
        let path = folder.path("out." + format.container.fileExtensions[0])
        try Converted.file(try source(.fivePointOne), to: path, as: format)
        let found = try levels(path)
        #expect(found.allSatisfy { abs($0) < output.tolerance }, "\(found)")
        // A single channel is as loud as its coefficient.
        let front = folder.path("front.wav")
        let one = Signal.tone(997, rate: 48_000, frames: Self.frames, amplitude: 0.9)
        let rest = Signal.silence(rate: 48_000, frames: Self.frames, channels: 5)
        try WAVFile.write(Signal.stacked([one, rest]).pcm(.s16), to: front)
        try Converted.file(front, to: path, as: format)
        let root: Double = 2.0.squareRoot()
        let wanted: Double = 20 * log10(0.9 / root / (2 + root))
        let alone = try levels(path)
        #expect(alone.allSatisfy { abs($0 - wanted) < output.tolerance }, "\(alone)")
    }

    @Test func voicePresetDoesNotOverload() throws {
        let path = folder.path("out.opus")
        try Converted.file(try source(.stereo), to: path, as: try Preset.named("opus-voice-24").format)
        #expect(try levels(path)[0] < 0.5)
        try Run.program("opusdec", ["--quiet", "--float", path, folder.path("decoded.wav")]).checked()
        let decoded = try FFmpeg.decode(folder.path("decoded.wav"), to: .f32)
        #expect(abs(20 * log10(try decoded.cut(12_000..<36_000).rms[0] * 2.0.squareRoot())) < 0.5)
    }

    @Test func lameAgreesOnTheLevel() throws {
        let path = folder.path("out.mp3")
        try Converted.file(
            try source(.stereo, amplitude: 0.5),
            to: path,
            as: AudioFormat(container: .mp3, channelCount: 1)
        )
        try Run.program("mpg123", ["-q", "-w", folder.path("decoded.wav"), path]).checked()
        let decoded = try WAVFile.read(path: folder.path("decoded.wav"))
        let level = 20 * log10(try decoded.cut(12_000..<36_000).rms[0] * 2.0.squareRoot())
        #expect(abs(level + 6.02) < 0.5, "\(level)")
    }

    /// Converts each named layout into each other, with correlated channels at full scale.
    @Test(arguments: ChannelLayout.named.map(\.layout)) func noMixExceedsFullScale(from: ChannelLayout) throws {
        let input = try source(from, .f32)
        for to in ChannelLayout.named.map(\.layout) where to != from {
            let path = folder.path("mixed.wav")
            let format = AudioFormat(container: .wav, layout: to, bitDepth: 32, sampleKind: .float)
            let outcome = try Converted.file(input, to: path, as: format)
            let mixed = try WAVFile.read(path: path)
            #expect(mixed.peaks.allSatisfy { $0 < 1.000_01 }, "\(from) \(to) \(mixed.peaks)")
            let mix = try #require(ChannelMix(from: from, to: to))
            for (channel, row) in mix.rows.enumerated() {
                #expect(abs(mixed.peaks[channel] - row.reduce(0, +)) < 0.001, "\(from) \(to) \(channel)")
            }
            #expect(outcome.remarks.contains { $0.kind == .channelsMixed } != mix.keepsEveryChannel, "\(from) \(to)")
        }
    }

    @Test func monoToStereoIsTheSameSampleTwice() throws {
        let pcm = Signal.noise(seed: 3, rate: 48_000, frames: 10_000, amplitude: 1).pcm(.s16)
        let input = folder.path("source.wav")
        try WAVFile.write(pcm, to: input)
        for format in [
            AudioFormat(container: .wav, channelCount: 2), AudioFormat(container: .flac, channelCount: 2),
            AudioFormat(container: .wav, channelCount: 2, bitDepth: 24),
        ] {
            let path = folder.path("out")
            let outcome = try Converted.file(input, to: path, as: format, verifies: true)
            let decoded = try FFmpeg.decode(path)
            #expect(decoded.channels == 2)
            #expect((0..<2).allSatisfy { decoded.samples(channel: $0) == pcm.samples(channel: 0) })
            #expect(outcome.remarks.isEmpty)
        }
        let mp3 = folder.path("out.mp3")
        try Converted.file(
            try source(.mono, amplitude: 0.5),
            to: mp3,
            as: AudioFormat(container: .mp3, channelCount: 2)
        )
        #expect(try levels(mp3).allSatisfy { abs($0 + 6.02) < 0.5 })
    }

    /// Other names or another order of the same speakers need no downmix: every sample stays.
    @Test(arguments: [
        (ChannelLayout.fivePointOneSide, ChannelLayout.fivePointOne), (.sixPointOne, .sixPointOneBack),
        (.quad, .fivePointOne), (.stereo, .sevenPointOne),
    ])
    func layoutsThatHoldEverySpeakerKeepEverySample(from: ChannelLayout, to: ChannelLayout) throws {
        let pcm = Signal.ramp24(rate: 48_000, frames: 5_000, channels: from.channelCount).pcm(.s24)
        let input = folder.path("source.wav")
        try WAVFile.write(pcm, to: input, options: .init(channelMask: UInt32(from.mask)))
        let path = folder.path("out.wav")
        let outcome = try Converted.file(input, to: path, as: AudioFormat(container: .wav, layout: to), verifies: true)
        #expect(outcome.remarks.isEmpty, "\(outcome.remarks)")
        let decoded = try WAVFile.read(path: path)
        let mix = try #require(ChannelMix(from: from, to: to))
        for (channel, row) in mix.rows.enumerated() {
            let wanted = row.firstIndex(of: 1).map { pcm.samples(channel: $0) }
            #expect(decoded.samples(channel: channel) == wanted ?? [Double](repeating: 0, count: 5_000))
        }
    }

    @Test func mixIsToldWithItsGain() throws {
        let outcome = try Converted.file(
            try source(.fivePointOne),
            to: folder.path("out.wav"),
            as: AudioFormat(container: .wav, channelCount: 2)
        )
        #expect(
            outcome.remarks.map(\.detail)
                == ["5.1 was mixed to stereo, front channels at -7.7 dB, without the low-frequency channel"]
        )
        #expect(outcome.remarks.allSatisfy { $0.kind == .channelsMixed && $0.kind.isLoss })
    }

    @Test func mixIsRefusedWhereNothingMayBeLost() throws {
        let recipe = try Converter.Request(
            {
                var recipe = Recipe(
                    from: .init(location: "a.wav"),
                    to: .init(location: "b.wav", format: AudioFormat(container: .wav, channelCount: 1))
                )
                recipe.strictLoss = true
                return recipe
            }()
        )
        let input = try OpenFile.reading(source(.stereo))
        let output = try OpenFile.creating(folder.path("out.wav"))
        let code = Converted.code {
            _ = try Converter(recipe).run(from: input.descriptor, to: output.descriptor)
        }
        #expect(code == .lossRefused)
    }
}
