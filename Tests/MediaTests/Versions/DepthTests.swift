import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Reducing the bit depth adds noise of a known level, without offset or distortion. Samples that fit stay unchanged.
@Suite struct DepthTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func convert(
        _ pcm: PCM,
        _ format: AudioFormat,
        options: WAVFile.Options = .init()
    ) throws -> (PCM, Converter.Outcome) {
        let (input, output) = (folder.path("in.wav"), folder.path("out"))
        try WAVFile.write(pcm, to: input, options: options)
        let outcome = try Converted.file(input, to: output, as: format, verifies: true)
        let stored: PCM.SampleFormat = [8: .u8, 16: .s16, 24: .s24, 32: .s32][outcome.format.bitDepth]!
        return (try FFmpeg.decode(output, to: outcome.format.sampleKind == .float ? .f32 : stored), outcome)
    }

    /// libav decodes FLAC of 8 bits to samples of 16 bits.
    @Test(arguments: [Container.wav, .aiff]) func eightBitsOfFLACAreNotReduced(container: Container) throws {
        let music = Signal.noise(seed: 9, rate: 48_000, frames: 10_000, channels: 2, amplitude: 0.4).pcm(.u8)
        try WAVFile.write(music, to: folder.path("in.wav"))
        try Run.program("flac", ["-s", "-f", "-o", folder.path("in.flac"), folder.path("in.wav")]).checked()
        let format = AudioFormat(container: container)
        let outcome = try Converted.file(folder.path("in.flac"), to: folder.path("out"), as: format, refusesLoss: true)
        #expect(outcome.format.bitDepth == 8 && !outcome.remarks.contains { $0.kind == .depthReduced })
        let read = try FFmpeg.decode(folder.path("out"), to: .u8)
        let isSame = read.samples(channel: 1) == music.samples(channel: 1)
        #expect(isSame)
    }

    /// With 8 bits, libav writes checksums by which WavPack's own decoder plays silence.
    @Test func eightBitsBecomeWavPackThatItsOwnDecoderReads() throws {
        let music = Signal.noise(seed: 8, rate: 48_000, frames: 10_000, channels: 2, amplitude: 0.4).pcm(.u8)
        let (output, outcome) = try convert(music, AudioFormat(container: .wavpack, codec: .wavpack))
        #expect(outcome.format.bitDepth == 16)
        let isSame = output.samples(channel: 1) == music.samples(channel: 1)
        #expect(isSame)
        let (named, copy) = (folder.path("out.wv"), folder.path("copy.wav"))
        try Bytes.write(Bytes.read(folder.path("out")), to: named)
        try Run.program("wvunpack", ["-q", "-y", named, "-o", copy]).checked()
        #expect(try WAVFile.read(path: copy) == output)
    }

    /// The error in the first channel, in steps of `bits`: its mean and its root mean square.
    private func error(_ output: PCM, _ input: PCM, bits: Int) -> (mean: Double, rms: Double) {
        let scale = pow(2.0, Double(bits - 1))
        let errors = SampleMath.differences(output.samples(channel: 0), input.samples(channel: 0), scale: scale)
        return (SampleMath.mean(errors), SampleMath.rootMeanSquare(errors))
    }

    /// The component of `samples` at `frequency`, as the amplitude of a sine.
    private func amplitude(_ samples: [Double], _ frequency: Double, rate: Double) -> Double {
        let (sine, cosine) = SampleMath.toneSums(samples, step: 2 * Double.pi * frequency / rate)
        return 2 * (sine * sine + cosine * cosine).squareRoot() / Double(samples.count)
    }

    private static let frames = 96_000

    @Test(arguments: [(PCM.SampleFormat.s24, 16), (.s24, 8), (.s32, 16), (.s32, 24), (.f32, 16), (.f64, 24), (.s16, 8)])
    func lostBitsBecomeNoiseOfHalfAStep(from: PCM.SampleFormat, bits: Int) throws {
        let music = Signal.noise(seed: 21, rate: 48_000, frames: Self.frames, channels: 2, amplitude: 0.4).pcm(from)
        for (dither, wanted) in [(nil, 0.5), (Dither.tpdf, 0.5), (.rounding, 0.2887)] {
            let (out, outcome) = try convert(music, AudioFormat(container: .wav, bitDepth: bits, dither: dither))
            let (mean, rms) = error(out, music, bits: bits)
            #expect(abs(mean) < 0.01, "\(from) \(bits) \(mean)")
            #expect(abs(rms - wanted) < 0.01, "\(from) \(bits) \(rms)")
            let told = try #require(outcome.remarks.first { $0.kind == .depthReduced })
            let source = from.isFloat ? "\(from.bits)-bit floats to \(bits) bits" : "\(from.bits) bits to \(bits)"
            #expect(told.detail == source + (dither == .rounding ? ", rounded" : ", dithered"))
        }
    }

    /// A sine far below the lowest of 16 bits is present in the noise, and its harmonics are not.
    @Test func faintSineKeepsItsShape() throws {
        let level = pow(10, -90.0 / 20)
        let sine = Signal.tone(1_000, rate: 48_000, frames: Self.frames * 4, amplitude: level).pcm(.s24)
        let (out, _) = try convert(sine, AudioFormat(container: .wav, bitDepth: 16))
        let samples = out.samples(channel: 0)
        let found = 20 * log10(amplitude(samples, 1_000, rate: 48_000))
        #expect(abs(found + 90) < 0.3, "\(found)")
        // The noise in one bin of such a long stretch is at about -151 dB.
        for harmonic in 2...9 {
            let there = 20 * log10(amplitude(samples, Double(harmonic) * 1_000, rate: 48_000))
            #expect(there < -135, "\(harmonic) \(there)")
        }
        // Without dither the sine becomes a square wave with clear harmonics, so this test can detect them.
        let (rounded, _) = try convert(sine, AudioFormat(container: .wav, bitDepth: 16, dither: .rounding))
        let third = 20 * log10(amplitude(rounded.samples(channel: 0), 3_000, rate: 48_000))
        #expect(third > -115, "\(third)")
    }

    /// `sox -D` rounds exactly as Sluice does without dither, and the dither of `sox` has the same level.
    @Test func soxAgrees() throws {
        let noise = Signal.noise(seed: 4, rate: 48_000, frames: Self.frames, channels: 2, amplitude: 0.5).pcm(.s24)
        let (rounded, _) = try convert(noise, AudioFormat(container: .wav, bitDepth: 16, dither: .rounding))
        let theirs = folder.path("sox.wav")
        try Run.program("sox", ["-D", folder.path("in.wav"), "-b", "16", theirs]).checked()
        #expect(try WAVFile.read(path: theirs).bytes == rounded.bytes)
        let (dithered, _) = try convert(noise, AudioFormat(container: .wav, bitDepth: 16))
        try Run.program("sox", ["-R", folder.path("in.wav"), "-b", "16", theirs, "dither"]).checked()
        let level = try error(WAVFile.read(path: theirs), noise, bits: 16).rms
        #expect(abs(error(dithered, noise, bits: 16).rms - level) < 0.02)
    }

    @Test(arguments: [(Container.wav, Codec.pcm), (.flac, .flac), (.m4a, .alac), (.wavpack, .wavpack)])
    func bitsThatFitAreNotTouched(container: Container, codec: Codec) throws {
        let shallow = Signal.noise(seed: 6, rate: 48_000, frames: 20_000, channels: 2, amplitude: 1).pcm(.s16)
        for deep in [PCM.SampleFormat.s24, .s32, .f32, .f64] {
            let format = AudioFormat(container: container, codec: codec, bitDepth: 16)
            let (out, outcome) = try convert(shallow.converted(to: deep), format)
            #expect(out.bytes == shallow.bytes, "\(deep)")
            #expect(outcome.remarks.isEmpty, "\(deep) \(outcome.remarks)")
        }
    }

    /// High-resolution sources usually store 24 bits in 32-bit samples.
    @Test func sourceOf24BitsIsKeptByEveryLosslessPreset() throws {
        let pcm = Signal.ramp24(rate: 96_000, frames: 20_000, channels: 2).pcm(.s24)
        for name in ["wav", "archive-flac", "alac", "caf", "aiff"] {
            let (out, outcome) = try convert(pcm, try Preset.named(name).format)
            #expect(out.bytes == pcm.bytes && outcome.remarks.isEmpty, "\(name)")
        }
    }

    @Test(arguments: ["archive-flac", "alac", "aiff"]) func presetsCalledLosslessTellOfLostBits(name: String) throws {
        let noise = Signal.noise(seed: 8, rate: 48_000, frames: 9_000, channels: 2, amplitude: 0.5)
        let preset = try Preset.named(name).format
        let (_, floats) = try convert(noise.pcm(.f32), preset)
        #expect(floats.remarks.map(\.detail) == ["32-bit floats to 24 bits, dithered"])
        let (_, doubles) = try convert(noise.pcm(.f64), preset)
        #expect(doubles.remarks.map(\.detail) == ["64-bit floats to 24 bits, dithered"])
        guard name != "aiff" else { return }
        let (_, integers) = try convert(noise.pcm(.s32), preset)
        #expect(integers.remarks.map(\.detail) == ["32 bits to 24, dithered"])
    }

    /// Dither starts only at the first sample that needs rounding. Silence before it stays silent.
    @Test func noiseBeginsWithTheFirstSampleThatDoesNotFit() throws {
        let silence = Signal.silence(rate: 48_000, frames: 7_001, channels: 2)
        let sound = Signal.noise(seed: 9, rate: 48_000, frames: 7_000, channels: 2, amplitude: 0.1)
        for format in [PCM.SampleFormat.s24, .f32] {
            let (out, _) = try convert(
                silence.followed(by: sound).pcm(format),
                AudioFormat(container: .wav, bitDepth: 16)
            )
            #expect(try out.cut(0..<7_001).peaks == [0, 0])
        }
    }

    /// The output bytes do not depend on the block length.
    @Test func blocksOfAnyLengthGiveTheSameBytes() throws {
        let noise = Signal.noise(seed: 10, rate: 48_000, frames: 30_011, channels: 3, amplitude: 0.9)
        for format in [SampleFormat.s32, .f32, .f32Planar, .s32Planar, .f64] {
            for rate in [48_000, 44_100] {
                var results: Set<[UInt8]> = []
                for length in [1, 37, 1_024, 30_011] where length > 1 || rate == 48_000 {
                    results.insert(try blocks(noise, format, of: length, rate: rate))
                }
                #expect(results.count == 1, "\(format) \(rate)")
            }
        }
    }

    /// The output bytes of a converter to 16 bits.
    private func blocks(_ signal: Signal, _ format: SampleFormat, of length: Int, rate: Int) throws -> [UInt8] {
        var converter = try FormatConverter(
            to: SampleShape(format: .s16, sampleRateHz: rate, channelCount: 3, channelMask: 0)
        )
        var bytes: [UInt8] = []
        try signal.inBlocks(of: length, as: format) { block in
            try converter.convert(&block) { $0.appendInterleaved(to: &bytes) }
        }
        try converter.drain { $0.appendInterleaved(to: &bytes) }
        #expect(bytes.count == Int(converter.plannedFrames) * 6)
        return bytes
    }

    @Test(arguments: [44_100, 16_000]) func resampledIntegersAreDitheredAndTheSameEachTime(rate: Int) throws {
        let level = pow(10, -90.0 / 20)
        let sine = Signal.tone(1_000, rate: 48_000, frames: Self.frames, amplitude: level).pcm(.s24)
        let format = AudioFormat(container: .wav, sampleRateHz: rate, bitDepth: 16)
        let (first, outcome) = try convert(sine, format)
        let (second, _) = try convert(sine, format)
        #expect(first.bytes == second.bytes)
        #expect(outcome.remarks.map(\.detail) == ["24 bits to 16, dithered"])
        let middle = try first.cut(rate / 2..<rate / 2 + rate).samples(channel: 0)
        #expect(abs(20 * log10(amplitude(middle, 1_000, rate: Double(rate))) + 90) < 0.5)
        #expect(20 * log10(amplitude(middle, 3_000, rate: Double(rate))) < -125)
        // The depth does not change, so there is no remark.
        let shallow = Signal.tone(1_000, rate: 48_000, frames: 9_600, amplitude: 0.3).pcm(.s16)
        #expect(try convert(shallow, AudioFormat(container: .wav, sampleRateHz: rate)).1.remarks.isEmpty)
    }

    @Test func ditherOfWhatStoresNoSamplesIsRefused() throws {
        let pcm = Signal.tone(1_000, rate: 48_000, frames: 100).pcm(.s16)
        for format in [
            AudioFormat(container: .mp3, dither: .tpdf), AudioFormat(container: .wav, codec: .copy, dither: .rounding),
        ] {
            #expect(Converted.code { _ = try convert(pcm, format) } == .formatRefused)
        }
    }
}
