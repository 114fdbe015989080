import Conversion
import TestSupport
import Testing

@testable import Media

/// Samples beyond full scale are clipped and counted for integer outputs. NaN and infinity are refused.
@Suite struct ClippingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A quiet tone in which `loud` samples have the given value, as floats.
    private func source(_ value: Double, loud: Int, _ format: PCM.SampleFormat = .f32) throws -> String {
        var signal = Signal.tone(500, rate: 48_000, frames: 10_000, channels: 2, amplitude: 0.25).channels
        for place in 0..<loud { signal[place % 2][100 + 50 * place] = value }
        let path = folder.path("loud.wav")
        try WAVFile.write(Signal(rate: 48_000, channels: signal).pcm(format), to: path)
        return path
    }

    struct Way: CustomTestStringConvertible, Sendable {
        let container: Container
        let codec: Codec
        let bits: Int
        var testDescription: String { "\(codec) of \(bits) bits in \(container)" }
        var format: AudioFormat {
            AudioFormat(container: container, codec: codec, bitDepth: bits, sampleKind: .integer)
        }

        static let all = [
            Way(container: .wav, codec: .pcm, bits: 8), Way(container: .wav, codec: .pcm, bits: 16),
            Way(container: .aiff, codec: .pcm, bits: 24), Way(container: .wav, codec: .pcm, bits: 32),
            Way(container: .flac, codec: .flac, bits: 16), Way(container: .flac, codec: .flac, bits: 24),
            Way(container: .m4a, codec: .alac, bits: 24), Way(container: .wavpack, codec: .wavpack, bits: 24),
        ]
    }

    @Test(arguments: Way.all, [1.5, -1.5, 300, 1.02, -1e20]) func floatsBeyondFullScaleAreCounted(
        way: Way,
        value: Double
    ) throws {
        for format in [PCM.SampleFormat.f32, .f64] {
            let path = folder.path("out")
            let outcome = try Converted.file(
                try source(value, loud: 37, format),
                to: path,
                as: way.format,
                verifies: true
            )
            let told = try #require(outcome.remarks.first { $0.kind == .samplesClipped })
            #expect(told.count == 37 && told.detail == "37 samples exceeded full scale and were clipped")
            #expect(told.kind.isLoss)
            // Clipped at full scale, within one and a half quantisation steps of dither.
            let peak = try FFmpeg.decode(path, to: .f64).samples(channel: 0)[100]
            let fullScale: Double = value > 0 ? 1 : -1
            let tolerance: Double = 3 / Double(1 << (way.bits - 1))
            #expect(abs(peak - fullScale) < tolerance, "\(peak)")
        }
    }

    @Test(arguments: Way.all) func fullScaleIsNotBeyondIt(way: Way) throws {
        for value in [1.0, -1] {
            let outcome = try Converted.file(try source(value, loud: 20), to: folder.path("out"), as: way.format)
            #expect(!outcome.remarks.contains { $0.kind == .samplesClipped }, "\(outcome.remarks)")
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity], Way.all)
    func whatIsNoNumberIsRefused(value: Double, way: Way) throws {
        let path = try source(value, loud: 1)
        #expect(Converted.code { try Converted.file(path, to: folder.path("out"), as: way.format) } == .encodeFailed)
        var mixed = way.format
        (mixed.channelCount, mixed.sampleRateHz) = (1, 44_100)
        #expect(Converted.code { try Converted.file(path, to: folder.path("out"), as: mixed) } == .encodeFailed)
    }

    /// A square wave at full scale overshoots when it is resampled.
    @Test func overshootOfTheResamplerIsCounted() throws {
        let square = Signal(
            rate: 48_000,
            channels: [(0..<48_000).map { $0 / 50 % 2 == 0 ? 1 : -1 }]
        )
        let path = folder.path("square.wav")
        try WAVFile.write(square.pcm(.s16), to: path)
        let out = folder.path("out.wav")
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: .wav, sampleRateHz: 44_100))
        let float = AudioFormat(container: .wav, sampleRateHz: 44_100, bitDepth: 32, sampleKind: .float)
        let floats = folder.path("floats.wav")
        #expect(try Converted.file(path, to: floats, as: float).remarks.isEmpty)
        let largest: Double = 1 + 0.5 / 32_768
        let beyond: Int = try WAVFile.read(path: floats).samples(channel: 0).count { abs($0) > largest }
        #expect(beyond > 1_000)
        #expect(outcome.remarks.first { $0.kind == .samplesClipped }?.count == Int64(beyond))
    }

    /// A decoded lossy source may be louder than the original recording. It has no bit depth that could be lost.
    @Test func loudMP3IsCountedAndHasNoDepthToLose() throws {
        let noise = Signal.noise(seed: 2, rate: 44_100, frames: 44_100, channels: 2, amplitude: 1)
        let mp3 = folder.path("loud.mp3")
        try FFmpeg.encode(noise.pcm(.s16), to: mp3, ["-b:a", "64k"])
        let outcome = try Converted.file(mp3, to: folder.path("out.wav"), as: AudioFormat(container: .wav))
        #expect(outcome.remarks.map(\.kind) == [.samplesClipped])
        let quiet = folder.path("quiet.mp3")
        try FFmpeg.encode(noise.scaled(by: 0.2).pcm(.s16), to: quiet, ["-b:a", "128k"])
        #expect(try Converted.file(quiet, to: folder.path("out.wav"), as: AudioFormat(container: .wav)).remarks.isEmpty)
    }

    @Test func clippingIsRefusedWhereNothingMayBeLost() throws {
        for (value, wanted) in [(1.5, FailureCode.lossRefused), (0.5, .lossRefused)] {
            var request = Converter.Request(format: AudioFormat(container: .flac, bitDepth: 16))
            request.refusesLoss = true
            let input = try OpenFile.reading(source(value, loud: 3))
            let output = try OpenFile.creating(folder.path("out.flac"))
            let code = Converted.code { _ = try Converter(request).run(from: input.descriptor, to: output.descriptor) }
            #expect(code == wanted)
        }
    }
}
