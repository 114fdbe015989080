import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The quality of rate conversion that docs/formats.md states: the passband, images and aliases.
@Suite struct ResampleQualityTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    static let ways: [(from: Int, to: Int)] = [
        (from: 44_100, to: 48_000), (48_000, 44_100), (44_100, 96_000), (96_000, 44_100), (48_000, 96_000),
        (96_000, 48_000),
    ]

    /// A second of a converted tone of 0.9 of full scale, away from the ends.
    private func converted(
        _ frequency: Double,
        _ way: (from: Int, to: Int),
        _ quality: ResampleQuality?,
        bits: Int = 24
    )
        throws -> [Double]
    {
        let (input, output) = (folder.path("in.wav"), folder.path("out.wav"))
        // Not `Signal.tone`: a frequency that is no whole number of hertz avoids errors that repeat.
        let tone = Signal.computedTone(frequency, rate: way.from, frames: 2 * way.from, amplitude: 0.9)
        try WAVFile.write(tone.pcm(.f64), to: input)
        let format = AudioFormat(
            container: .wav,
            codec: .pcm,
            sampleRateHz: way.to,
            bitDepth: bits,
            sampleKind: .integer,
            resample: quality
        )
        try Converted.file(input, to: output, as: format)
        return Array(try WAVFile.read(path: output).samples(channel: 0)[way.to / 2..<way.to * 3 / 2])
    }

    /// The level of the tone against its source in dB, and the level of all else in dB of full scale. The tone is
    /// fitted by least squares, so no window hides what lies beside it.
    private func levels(_ samples: [Double], _ frequency: Double, rate: Int) -> (tone: Double, rest: Double) {
        let (a, b, rest) = SampleMath.fittedTone(samples, step: 2 * Double.pi * frequency / Double(rate))
        return (20 * log10((a * a + b * b).squareRoot() / 0.9), 10 * log10(rest / Double(samples.count)))
    }

    @Test(arguments: 0..<ways.count) func passbandIsFlatTo20Kilohertz(index: Int) throws {
        let way = Self.ways[index]
        for frequency in [20.3, 1_000.7, 5_000.1, 10_000.9, 15_000.3, 18_000.7, 19_000.1, 19_999.9] {
            let (tone, rest) = levels(try converted(frequency, way, nil), frequency, rate: way.to)
            #expect(abs(tone) < 0.01, "\(frequency) Hz: \(tone) dB")
            // Images, and all else that is not the tone.
            #expect(rest < -120, "\(frequency) Hz: \(rest) dB")
        }
    }

    @Test(arguments: [(96_000, 48_000), (96_000, 44_100), (48_000, 44_100)]) func aliasesAreInaudible(
        from: Int,
        to: Int
    ) throws {
        let nyquist = Double(to) / 2
        // Just above the new limit, in the middle, and near the old limit.
        for frequency in [nyquist * 1.002, nyquist * 1.03, nyquist * 1.3, Double(from) / 2 * 0.97]
        where frequency > nyquist && frequency < Double(from) / 2 {
            let samples = try converted(frequency, (from, to), nil)
            let level = 10 * log10(SampleMath.meanSquare(samples))
            #expect(level < -120, "\(frequency) Hz from \(from) to \(to): \(level) dB")
        }
    }

    @Test func qualitiesDiffer() throws {
        let way = (from: 44_100, to: 48_000)
        func rest(_ quality: ResampleQuality?, _ bits: Int) throws -> Double {
            levels(try converted(10_000.9, way, quality, bits: bits), 10_000.9, rate: way.to).rest
        }
        let fast = try rest(.fast, 24)
        #expect((-125 ... -90).contains(fast), "\(fast) dB")
        #expect(try rest(.standard, 24) < -140)
        #expect(try rest(.best, 24) < -140)
    }

    @Test func theDefaultIsTheDefault() throws {
        let way = (from: 44_100, to: 48_000)
        for bits in [16, 24] {
            #expect(try converted(997, way, nil, bits: bits) == converted(997, way, .standard, bits: bits))
        }
    }
}
