import Foundation
import TestSupport
import Testing

@testable import Media

/// Tests of the dither noise on its own.
@Suite struct DitherNoiseTests {
    private static let count = 1 << 18
    private static let noise: [Double] = (0..<UInt32(count)).map { Double(DitherNoise.triangle($0)) / 65_536 }

    @Test func noiseIsATriangleTwoStepsWide() {
        let noise = Self.noise
        #expect(SampleMath.peak(noise) < 1)
        let mean = SampleMath.mean(noise)
        #expect(abs(mean) < 0.003, "\(mean)")
        let variance = SampleMath.meanSquare(noise)
        #expect(abs(variance - 1.0 / 6) < 0.002, "\(variance)")
        // Three quarters of a triangular distribution lie in the inner half.
        let inner = Double(SampleMath.count(noise, below: 0.5)) / Double(noise.count)
        #expect(abs(inner - 0.75) < 0.005, "\(inner)")
    }

    /// Neighbouring samples and channels are uncorrelated.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 64, 1_000, 4_096, 65_536])
    func noiseIsWhite(lag: Int) {
        let noise = Self.noise
        let correlation = SampleMath.autocorrelation(noise, lag: lag) / Double(noise.count - lag) * 6
        #expect(abs(correlation) < 0.01, "\(correlation)")
    }

    @Test(arguments: [8, 16, 24]) func roundingIntegersIsFreeOfBias(bits: Int) {
        let step = 1 << (32 - bits)
        for dithers in [true, false] {
            let rounding = SampleRounding(bits: bits, dithers: dithers)
            // Visits every place between two steps equally often, around a few of the steps.
            let source = (0..<65_536).map { Int32(truncatingIfNeeded: ($0 * 257 % 65_536 - 32_768) * (step / 64)) }
            let target = round(source, rounding)
            let errors = zip(source, target).map { Double(Int($1) - Int($0)) / Double(step) }
            let mean = SampleMath.mean(errors)
            #expect(abs(mean) < 0.01, "\(bits) \(mean)")
            let rms = SampleMath.rootMeanSquare(errors)
            #expect(abs(rms - (dithers ? 0.5 : 0.2887)) < 0.02, "\(bits) \(rms)")
        }
    }

    @Test func roundingSaturates() {
        for dithers in [true, false] {
            let rounding = SampleRounding(bits: 24, dithers: dithers)
            let target = round([.max, .min, .max - 100, .min + 1], rounding)
            #expect(target[0] > 0x7FFF_FC00 && target[1] < -0x7FFF_FC00 && target.allSatisfy { $0 & 0xFF == 0 })
        }
        let rounding = SampleRounding(bits: 16, dithers: false)
        var out = [Int16](repeating: 0, count: 5)
        let beyond = rounding.round([1.0, -1.0, 1.5, -2, 0.999_99] as [Float], into: &out, 5, .init(first: 0, step: 1))
        #expect(out == [32_767, -32_768, 32_767, -32_768, 32_767])
        #expect(beyond == 2)
    }

    private func round(_ source: [Int32], _ rounding: SampleRounding) -> [Int32] {
        var target = [Int32](repeating: 0, count: source.count)
        rounding.round(source, into: &target, source.count, .init(first: 0, step: 1))
        return target
    }
}
