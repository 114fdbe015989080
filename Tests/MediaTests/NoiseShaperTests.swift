import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Shaped noise is lower where ears hear best, bounded, free of tones, and made by coefficients that can be computed.
@Suite struct NoiseShaperTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func convert(_ signal: Signal, _ dither: Dither, bits: Int = 16) throws -> (PCM, Converter.Outcome) {
        let (input, output) = (folder.path("in.wav"), folder.path("out.wav"))
        try WAVFile.write(signal.pcm(.f64), to: input)
        let format = AudioFormat(
            container: .wav,
            codec: .pcm,
            bitDepth: bits,
            sampleKind: .integer,
            dither: dither
        )
        let outcome = try Converted.file(input, to: output, as: format)
        return (try WAVFile.read(path: output), outcome)
    }

    /// The error of a conversion in steps.
    private func error(_ signal: Signal, _ dither: Dither, bits: Int = 16) throws -> [Double] {
        let scale = pow(2.0, Double(bits - 1))
        let output = try convert(signal, dither, bits: bits).0
        return SampleMath.differences(output.samples(channel: 0), signal.channels[0], scale: scale)
    }

    private func music(rate: Int, frames: Int = 65_536) -> Signal {
        .noise(seed: 5, rate: rate, frames: frames, amplitude: 0.3)
    }

    @Test(arguments: [44_100, 48_000]) func noiseIsLowerFrom2To5Kilohertz(rate: Int) throws {
        let signal = music(rate: rate)
        let (plain, shaped) = (try error(signal, .tpdf), try error(signal, .shaped))
        let ratio =
            SampleMath.bandPower(shaped, rate: rate, 2_000...5_000)
            / SampleMath.bandPower(plain, rate: rate, 2_000...5_000)
        let change = 10 * log10(ratio)
        #expect(change < -8, "\(change) dB")
        #expect((-18 ... -14).contains(change), "\(change) dB: docs/formats.md says 16")
        let total = 10 * log10(SampleMath.energy(shaped) / SampleMath.energy(plain))
        #expect(abs(total - 7.7) < 0.3, "\(total) dB: docs/formats.md says 7.7")
    }

    /// The prediction of the inverse threshold of hearing, as the comment of `NoiseShaper` describes it.
    @Test(arguments: [44_100, 48_000]) func coefficientsFollowFromTheThresholdOfHearing(rate: Int) throws {
        let points = 4_096
        let weights = (0..<points).map { point -> Double in
            let kilohertz = (Double(point) + 0.5) * Double(rate) / 2_000 / Double(points)
            let threshold =
                3.64 * pow(kilohertz, -0.8) - 6.5 * exp(-0.6 * pow(kilohertz - 3.3, 2)) + 0.001 * pow(kilohertz, 4)
            return pow(10, -min(max(threshold, -10), kilohertz < 1 ? 10 : 25) / 10)
        }
        let correlation = (0...NoiseShaper.order).map { lag in
            weights.enumerated().reduce(0.0) { sum, next in
                sum + next.element * cos(Double(lag) * .pi * (Double(next.offset) + 0.5) / Double(points))
            }
        }
        // Levinson and Durbin's recursion.
        var (found, error) = ([Double](), correlation[0])
        for order in 0..<NoiseShaper.order {
            var sum: Double = correlation[order + 1]
            for (place, one) in found.enumerated() { sum -= one * correlation[order - place] }
            let reflection: Double = sum / error
            let before: [Double] = found
            for place in before.indices { found[place] -= reflection * before[order - 1 - place] }
            found.append(reflection)
            error *= 1 - reflection * reflection
        }
        let used = try #require(NoiseShaper.coefficients(atRate: rate))
        for (one, other) in zip(found, used) { #expect(abs(one - other) < 0.001, "\(found)") }
    }

    /// A sine of a third of a step, which plain rounding would turn into silence or into a square wave.
    @Test(arguments: [44_100, 48_000]) func quietSinesHaveNoOvertones(rate: Int) throws {
        let amplitude = pow(10, -90.0 / 20)
        let tone = Signal.tone(750, rate: rate, frames: 4 * 65_536, amplitude: amplitude)
        let output = try convert(tone, .shaped).0.samples(channel: 0)
        func level(_ frequency: Double) -> Double {
            let step = 2 * Double.pi * frequency / Double(rate)
            let (sine, cosine) = SampleMath.toneSums(output, step: step, isWindowed: true)
            return 20 * log10(4 * (sine * sine + cosine * cosine).squareRoot() / Double(output.count))
        }
        #expect(abs(level(750) + 90) < 0.3, "\(level(750)) dB")
        for overtone in 2...12 {
            #expect(level(750 * Double(overtone)) < -115, "\(overtone): \(level(750 * Double(overtone)))")
        }
    }

    @Test func errorsStayBoundedAtFullScale() throws {
        for amplitude in [1.0, 4] {
            let signal = Signal.noise(seed: 8, rate: 48_000, frames: 96_000, amplitude: amplitude)
            let (shaped, outcome) = try convert(signal, .shaped)
            let (plain, other) = try convert(signal, .tpdf)
            let count: (Converter.Outcome) -> Int64? = { $0.remarks.first { $0.kind == .samplesClipped }?.count }
            #expect(count(outcome) == count(other))
            // Clipping does not make noise: what is within full scale stays within a few steps of its value.
            let near = Array(signal.channels[0].prefix(20_001))
            let one = SampleMath.greatestDifference(shaped.samples(channel: 0), near, whereBelow: 0.99)
            let two = SampleMath.greatestDifference(plain.samples(channel: 0), near, whereBelow: 0.99)
            #expect(one * 32_768 < 16 && two * 32_768 < 2)
        }
    }

    @Test func samplesThatFitStayAndBlocksDoNotMatter() throws {
        let fitting = Signal.noise(seed: 2, rate: 48_000, frames: 10_000, channels: 2).pcm(.s16)
        let (input, output) = (folder.path("in.wav"), folder.path("out.wav"))
        try WAVFile.write(fitting, to: input)
        try Converted.file(input, to: output, as: AudioFormat(container: .wav, dither: .shaped))
        #expect(try WAVFile.read(path: output) == fitting)
        let shape = SampleShape(format: .s16, sampleRateHz: 48_000, channelCount: 2, channelMask: 0)
        let noise = Signal.noise(seed: 2, rate: 48_000, frames: 5_000, channels: 2)
        var results: Set<[UInt8]> = []
        for (length, format) in [(1, SampleFormat.f32), (7, .f32), (5_000, .f32), (640, .f32)] {
            var bytes: [UInt8] = []
            var converter = try FormatConverter(to: shape, dither: .shaped)
            try noise.inBlocks(of: length, as: format) { block in
                try converter.convert(&block) { $0.withPlane(0) { bytes.append(contentsOf: $0) } }
            }
            results.insert(bytes)
        }
        #expect(results.count == 1)
    }

    @Test(arguments: [8_000, 32_000, 96_000]) func otherRatesAreRefused(rate: Int) throws {
        let signal = music(rate: rate, frames: 4_000)
        #expect(Converted.code { _ = try self.convert(signal, .shaped) } == .formatRefused)
    }

    @Test func remarkNamesTheNoise() throws {
        let outcome = try convert(music(rate: 48_000, frames: 4_000), .shaped).1
        #expect(outcome.format.dither == .shaped)
        #expect(
            outcome.remarks.first { $0.kind == .depthReduced }?.detail
                == "64-bit floats to 16 bits, dithered with shaped noise"
        )
    }
}
