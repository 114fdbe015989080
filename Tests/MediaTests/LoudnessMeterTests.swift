import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The meter against the signals and tolerances of EBU Tech 3341 and 3342, and against libebur128 alone.
@Suite struct LoudnessMeterTests {
    private static let stereo = ChannelLayout.stereo.mask

    private func measure(
        _ signal: Signal,
        mask: UInt64 = stereo,
        as format: Media.SampleFormat = .f32,
        blocks: Int = 1_152
    ) throws -> LoudnessReport {
        var meter: LoudnessMeter?
        try signal.inBlocks(of: blocks, as: format, mask: mask) { block in
            if meter == nil, let shape = block.shape { meter = try LoudnessMeter(shape: shape) }
            try meter?.add(&block)
        }
        return try #require(meter).finish()
    }

    /// Stereo tones of 1 kHz, one after another: peak level in dBFS, and seconds.
    private func tones(_ parts: [(level: Double, seconds: Double)], rate: Int = 48_000) -> Signal {
        let whole = parts.map { part in
            Signal.tone(
                1_000,
                rate: rate,
                frames: Int(part.seconds * Double(rate)),
                channels: 2,
                amplitude: pow(10, part.level / 20)
            )
        }
        return whole.dropFirst().reduce(whole[0]) { $0.followed(by: $1) }
    }

    // MARK: Tech 3341

    static let integrated: [(number: Int, parts: [(level: Double, seconds: Double)], wanted: Double)] = [
        (1, [(-23, 20)], -23), (2, [(-33, 20)], -33), (3, [(-36, 10), (-23, 60), (-36, 10)], -23),
        (4, [(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23),
        (5, [(-26, 20), (-20, 20.1), (-26, 20)], -23),
    ]

    @Test(arguments: 0..<integrated.count, [44_100, 48_000]) func integratedLoudnessOfTech3341(index: Int, rate: Int)
        throws
    {
        let test = Self.integrated[index]
        let found = try measure(tones(test.parts, rate: rate))
        let level = try #require(found.integratedLUFS)
        #expect(abs(level - test.wanted) <= 0.1, "case \(test.number): \(level)")
        if index < 2 {
            #expect(abs(try #require(found.momentaryMaxLUFS) - test.wanted) <= 0.1)
            #expect(abs(try #require(found.shortTermMaxLUFS) - test.wanted) <= 0.1)
        }
    }

    @Test(arguments: [ChannelLayout.fivePointZero, .fivePointZeroSide, .fivePointOne, .fivePointOneSide])
    func surroundChannelsCountMore(layout: ChannelLayout) throws {
        // Left and right at -28, the centre at -24, the surrounds at -30 dBFS; a low-frequency channel counts nothing.
        let levels = [-28.0, -28, -24] + (layout.channelCount == 6 ? [-3] : []) + [-30, -30]
        let channels = levels.map {
            Signal.tone(1_000, rate: 48_000, frames: 20 * 48_000, amplitude: pow(10, $0 / 20))
        }
        let found = try measure(.stacked(channels), mask: layout.mask)
        #expect(abs(try #require(found.integratedLUFS) + 23) <= 0.1)
    }

    /// Cases 9 and 12: the windows of three seconds and of 400 ms.
    @Test func windowsHaveTheirLengths() throws {
        let long = (0..<5).flatMap { _ in [(level: -20.0, seconds: 1.34), (level: -30.0, seconds: 1.66)] }
        #expect(abs(try #require(try measure(tones(long)).shortTermMaxLUFS) + 23) <= 0.1)
        let short = (0..<25).flatMap { _ in [(level: -20.0, seconds: 0.18), (level: -30.0, seconds: 0.22)] }
        #expect(abs(try #require(try measure(tones(short)).momentaryMaxLUFS) + 23) <= 0.1)
    }

    /// Cases 10 and 13: bursts that begin anywhere between two blocks of 100 ms.
    @Test(arguments: 0..<20) func maximaDoNotDependOnWhereABurstBegins(number: Int) throws {
        func burst(after silence: Double, lasting seconds: Double) -> Signal {
            let before = Signal.silence(rate: 48_000, frames: max(1, Int(silence * 48_000)), channels: 2)
            return before.followed(by: tones([(-23, seconds)]))
                .followed(by: .silence(rate: 48_000, frames: 48_000, channels: 2))
        }
        let long = try measure(burst(after: 0.15 * Double(number), lasting: 3))
        #expect(abs(try #require(long.shortTermMaxLUFS) + 23) <= 0.1)
        let short = try measure(burst(after: 0.02 * Double(number), lasting: 0.4))
        #expect(abs(try #require(short.momentaryMaxLUFS) + 23) <= 0.1)
    }

    static let peaks: [(number: Int, divisor: Double, phase: Double, amplitude: Double, wanted: Double)] = [
        (15, 4, 0, 0.5, -6), (16, 4, 45, 0.5, -6), (17, 6, 60, 0.5, -6), (18, 8, 67.5, 0.5, -6),
        (19, 4, 45, 1.41, 3),
    ]

    /// Cases 15 to 19: tones whose samples miss their peaks.
    @Test(arguments: 0..<peaks.count) func truePeakOfTones(index: Int) throws {
        let test = Self.peaks[index]
        let samples = (0..<48_000).map { place in
            // A soft start: the edge of a tone has peaks of its own.
            let fade = min(1, Double(min(place, 47_999 - place)) / 4_800)
            return fade * test.amplitude * sin(2 * .pi * Double(place) / test.divisor + test.phase * .pi / 180)
        }
        let found = try #require(
            try measure(Signal(rate: 48_000, channels: [samples, samples])).truePeakDBTP
        )
        #expect((-0.4...0.2).contains(found - test.wanted), "case \(test.number): \(found)")
    }

    /// Cases 20 to 23: one peak at full scale, at each quarter of the distance between two samples.
    @Test(arguments: 0..<4) func truePeakBetweenSamples(quarter: Int) throws {
        let samples = (0..<48_000).map { place in
            let time = Double(place - 24_000) + Double(quarter) / 4
            let swell = 0.5 + 0.5 * exp(-time * time / 800)
            return swell * cos(2 * .pi * time / 6)
        }
        let found = try #require(try measure(Signal(rate: 48_000, channels: [samples, samples])).truePeakDBTP)
        #expect((-0.4...0.2).contains(found), "\(found)")
    }

    // MARK: Tech 3342

    static let ranges: [(number: Int, levels: [Double], wanted: Double)] = [
        (1, [-20, -30], 10), (2, [-20, -15], 5), (3, [-40, -20], 20), (4, [-50, -35, -20, -35, -50], 15),
    ]

    @Test(arguments: 0..<ranges.count) func rangeOfTech3342(index: Int) throws {
        let test = Self.ranges[index]
        let found = try #require(try measure(tones(test.levels.map { ($0, 20) })).rangeLU)
        #expect(abs(found - test.wanted) <= 1, "case \(test.number): \(found)")
    }

    // MARK: Against libebur128

    /// Noise whose level wanders over 30 dB: blocks of every loudness, around both gates.
    private func wandering(rate: Int, channels: Int, seconds: Int) -> Signal {
        Signal.noise(seed: 3, rate: rate, frames: seconds * rate, channels: channels, amplitude: 0.5).wandering()
    }

    @Test(arguments: [8_000, 11_025, 22_050, 44_100, 48_000, 96_000], [1, 2]) func figuresEqualThoseOfLibebur128(
        rate: Int,
        channels: Int
    ) throws {
        let signal = wandering(rate: rate, channels: channels, seconds: 30)
        let reference = try ReferenceLoudness(signal)
        let found = try measure(signal, mask: channels == 1 ? ChannelLayout.mono.mask : Self.stereo, blocks: 777)
        #expect(abs(try #require(found.integratedLUFS) - reference.integrated) < 0.02)
        // libebur128 makes a block for the range once a second, and the meter ten times.
        #expect(abs(try #require(found.rangeLU) - reference.range) < 0.7)
        #expect(abs(try #require(found.truePeakDBTP) - 20 * log10(reference.truePeak)) < 0.001)
    }

    @Test func theSampleFormatAndTheBlocksDoNotMatter() throws {
        let signal = wandering(rate: 48_000, channels: 2, seconds: 5)
        let wanted = try measure(signal, blocks: 48_000)
        for format: Media.SampleFormat in [.s16, .s32, .f32, .f64, .s16Planar, .s32Planar, .f32Planar, .f64Planar] {
            let found = try measure(signal, as: format, blocks: 1_023)
            for (figure, other) in zip(found.figures, wanted.figures) {
                #expect(abs(figure - other) < 0.01, "\(format): \(found)")
            }
            #expect(found.figures.count == 6)
        }
    }

    // MARK: Extremes

    @Test func silenceHasNoLevel() throws {
        let silence = Signal.silence(rate: 48_000, frames: 480_000, channels: 2)
        #expect(try measure(silence) == LoudnessReport())
        #expect(try LoudnessMeter(shape: shape(channels: 2)).finish() == LoudnessReport())
    }

    @Test func lessThanABlockHasPeaksOnly() throws {
        let found = try measure(.tone(1_000, rate: 48_000, frames: 4_800, channels: 2))
        #expect(found.integratedLUFS == nil && found.rangeLU == nil)
        #expect(abs(try #require(found.samplePeakDBFS) + 6.02) < 0.01)
    }

    @Test func oneChannelCountsOnce() throws {
        let tone = Signal.tone(1_000, rate: 48_000, frames: 480_000)
        let one = try #require(try measure(tone, mask: ChannelLayout.mono.mask).integratedLUFS)
        let two = try #require(try measure(.stacked([tone, tone])).integratedLUFS)
        #expect(abs(two - one - 3.01) < 0.01)
    }

    @Test func samplesThatAreNoNumbersHaveNoLevel() throws {
        var samples = Signal.tone(1_000, rate: 48_000, frames: 96_000).channels
        samples[0][9_000] = .nan
        let found = try measure(Signal(rate: 48_000, channels: samples), mask: ChannelLayout.mono.mask)
        #expect(found == LoudnessReport())
    }

    @Test func unmeasurableShapesAreRefused() throws {
        #expect(Converted.code { _ = try LoudnessMeter(shape: self.shape(channels: 65)) } == .resampleFailed)
        #expect(Converted.code { _ = try LoudnessMeter(shape: self.shape(channels: 2, rate: 8)) } == .resampleFailed)
    }

    private func shape(channels: Int, rate: Int = 48_000) -> SampleShape {
        SampleShape(format: .s16, sampleRateHz: rate, channelCount: channels, channelMask: 0)
    }
}
