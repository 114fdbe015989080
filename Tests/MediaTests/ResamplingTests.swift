import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The distortion that resampling adds to a pure tone.
@Suite struct ResamplingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// The part of the output that is not the tone, in dB of full scale, over three seconds away from the ends.
    private func residual(_ frequency: Double, _ amplitude: Double, _ format: AudioFormat) throws -> Double {
        let (input, path) = (folder.path("in.wav"), folder.path("out.wav"))
        let tone = Signal.tone(frequency, rate: 44_100, frames: 5 * 44_100, amplitude: amplitude)
        try WAVFile.write(tone.pcm(.f64), to: input)
        try Converted.file(input, to: path, as: format)
        let samples = Array(try WAVFile.read(path: path).samples(channel: 0)[48_000..<4 * 48_000])
        let (sine, cosine, rest) = SampleMath.fittedTone(samples, step: 2 * Double.pi * frequency / 48_000)
        #expect(abs(20 * log10((sine * sine + cosine * cosine).squareRoot() / amplitude)) < 0.01)
        return 10 * log10(rest / Double(samples.count))
    }

    /// Dither noise at 24 bits is at -144.5 dB. A filter for 20 bits would add distortion at -137 dB.
    @Test(arguments: [1_000.0, 5_000, 15_000], [0.99, 0.001])
    func distortionIsBelowTheNoiseOf24Bits(frequency: Double, amplitude: Double) throws {
        let format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 48_000, bitDepth: 24)
        let level = try residual(frequency, amplitude, format)
        #expect(level < -143.5, "\(level) dB")
    }

    @Test func floatsAreAsExactAsTheyCanBe() throws {
        var format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 48_000, bitDepth: 32, sampleKind: .float)
        let singles = try residual(1_000, 0.99, format)
        #expect(singles < -148, "\(singles) dB")
        format.bitDepth = 64
        let doubles = try residual(1_000, 0.99, format)
        #expect(doubles < -180, "\(doubles) dB")
    }

    /// At 16 bits, dither noise at -96.3 dB is the only noise.
    @Test func sixteenBitsHaveTheirNoiseOnly() throws {
        let level = try residual(
            1_000,
            0.99,
            AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 48_000, bitDepth: 16)
        )
        #expect(abs(level + 96.3) < 0.3, "\(level) dB")
    }
}
