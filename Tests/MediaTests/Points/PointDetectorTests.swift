import Conversion
import TestSupport
import Testing

@testable import Media

/// The detectors as values, with samples whose points are known.
@Suite struct PointDetectorTests {
    private static let sizes = [1, 7, 100, 100_000]

    /// Calls `body` with parts of `samples`, each with its clock.
    private func feed(_ samples: [Double], by size: Int, _ body: ([Double], BlockClock) -> Void) {
        for start in stride(from: 0, to: samples.count, by: size) {
            let part = Array(samples[start..<min(start + size, samples.count)])
            body(part, BlockClock(position: Int64(start), blockRate: 8_000, rate: 8_000))
        }
    }

    private static func spread(_ value: Double, over range: Range<Int>, in samples: inout [Double]) {
        for index in range { samples[index] = value }
    }

    // MARK: Clipping

    private static let clipped: [Double] = {
        var samples = [Double](repeating: 0.25, count: 1_000)
        spread(1, over: 100..<103, in: &samples)
        // Too short, and of both ends of the scale.
        spread(1, over: 200..<202, in: &samples)
        spread(1, over: 250..<252, in: &samples)
        spread(-1, over: 252..<254, in: &samples)
        spread(-1, over: 300..<305, in: &samples)
        spread(2, over: 996..<1_000, in: &samples)
        return samples
    }()

    private func clipping(gap: Int64, size: Int) -> [SourcePoint] {
        var finder = ClippingFinder(limit: 1, fewest: 3, gap: gap, channel: 1)
        var points = StatedPoints()
        feed(Self.clipped, by: size) { finder.add($0, $1, to: &points) }
        finder.finish(at: 1_000, to: &points)
        return points.points
    }

    @Test(arguments: sizes) func clippedRunsAreFoundToTheFrame(size: Int) {
        let points = clipping(gap: 1, size: size)
        #expect(points.map(\.frame) == [100, 300, 996])
        #expect(points.map(\.frames) == [3, 5, 4])
        #expect(points.map(\.value) == [3, 5, 4])
    }

    @Test(arguments: sizes) func clippedRunsThatAreCloseAreOnePoint(size: Int) {
        let points = clipping(gap: 198, size: size)
        #expect(points.map(\.frame) == [100, 996])
        #expect(points.map(\.frames) == [205, 4])
        #expect(points.map(\.value) == [8, 4])
    }

    @Test func endOfTheScaleFollowsTheDepth() {
        func limit(_ format: Media.SampleFormat, _ bits: Int) -> Double {
            let shape = SampleShape(format: format, sampleRateHz: 8_000, channelCount: 1, channelMask: 0)
            return ClippingFinder.limit(of: shape, bitDepth: bits)
        }
        let (eight, sixteen, twentyFour): (Double, Double, Double) = (127 / 128, 32_767 / 32_768, 8_388_607 / 8_388_608)
        #expect(limit(.s16, 16) == sixteen)
        #expect(limit(.s32Planar, 24) == twentyFour)
        #expect(limit(.u8, 8) == eight)
        // What the header says of the depth may be nonsense.
        #expect([24, 0].map { limit(.s16, $0) } == [sixteen, sixteen])
        #expect(limit(.f32, 16) == 1)
        #expect(limit(.f64Planar, 24) == 1)
    }

    // MARK: Dropouts

    /// Samples of both signs, none equal to the one before.
    private static func sound(_ count: Int) -> [Double] {
        (0..<count).map { frame -> Double in
            let (base, rest): (Double, Double) = (frame % 2 == 0 ? 0.1 : -0.1, Double(frame % 97))
            return base + 0.0001 * rest
        }
    }

    private func dropouts(in samples: [Double], size: Int = 100_000) -> [SourcePoint] {
        var finder = DropoutFinder(level: 0.001, limit: 1, lengths: 16...1_600, edge: 16, channel: 2)
        var points = StatedPoints()
        feed(samples, by: size) { finder.add($0, $1, to: &points) }
        return points.points
    }

    @Test(arguments: sizes) func runsOfEqualSamplesInSoundAreDropouts(size: Int) {
        var samples = Self.sound(10_000)
        Self.spread(0, over: 500..<700, in: &samples)
        // A player that repeats its last sample.
        Self.spread(samples[1_999], over: 2_000..<2_100, in: &samples)
        Self.spread(0.0005, over: 3_000..<3_016, in: &samples)
        // Too short, and too long.
        Self.spread(0, over: 4_000..<4_015, in: &samples)
        Self.spread(0, over: 5_000..<6_601, in: &samples)
        let points = dropouts(in: samples, size: size)
        #expect(points.map(\.frame) == [500, 1_999, 3_000])
        #expect(points.map(\.frames) == [200, 101, 16])
        #expect(points.allSatisfy { $0.channels == [2] && $0.kind == .dropout })
    }

    @Test func runsAtTheEndsAndInQuietAreNoDropouts() {
        var samples = Self.sound(5_000)
        Self.spread(0, over: 0..<200, in: &samples)
        Self.spread(0, over: 4_800..<5_000, in: &samples)
        // Sound that fades out before the run, and sound that fades in behind it.
        for index in 1_000..<1_050 { samples[index] = index % 2 == 0 ? 0.0001 : 0.0002 }
        Self.spread(0, over: 1_050..<1_200, in: &samples)
        Self.spread(0, over: 2_000..<2_150, in: &samples)
        for index in 2_150..<2_200 { samples[index] = index % 2 == 0 ? 0.0001 : 0.0002 }
        #expect(dropouts(in: samples).isEmpty)
    }

    @Test func clippedRunsAreNoDropouts() {
        var samples = Self.sound(1_000)
        Self.spread(1, over: 100..<150, in: &samples)
        Self.spread(-1, over: 300..<350, in: &samples)
        Self.spread(0.99, over: 500..<550, in: &samples)
        #expect(dropouts(in: samples).map(\.frame) == [500])
    }

    /// Of 16 frames, but not of 17, between a run and the sound beside it.
    @Test(arguments: [(16, 1), (17, 0)]) func soundIsAsCloseToBothEndsOfADropout(quiet: Int, count: Int) {
        for isBefore in [true, false] {
            var samples = Self.sound(1_000)
            Self.spread(0, over: 400..<500, in: &samples)
            let range = isBefore ? 400 - quiet..<400 : 500..<500 + quiet
            for index in range { samples[index] = index % 2 == 0 ? 0.0001 : 0.0002 }
            #expect(dropouts(in: samples).count == count, "quiet \(isBefore ? "before" : "behind")")
        }
    }

    // MARK: Runs

    @Test(arguments: sizes) func silencesAndEndsOfSoundAreFoundToTheFrame(size: Int) {
        var loud = [Double](repeating: 1, count: 5_000)
        Self.spread(0, over: 0..<100, in: &loud)
        Self.spread(0, over: 1_000..<1_500, in: &loud)
        Self.spread(0, over: 2_000..<2_499, in: &loud)
        Self.spread(0, over: 4_000..<5_000, in: &loud)
        var runs = SilenceRuns(shortest: 500)
        var points = StatedPoints()
        feed(loud, by: size) { part, clock in runs.add(part.map { Int($0) }, clock, to: &points) }
        runs.finish(&points)
        #expect(points.points.map(\.frame) == [1_000, 4_000])
        #expect(points.points.map(\.frames) == [500, 1_000])
        #expect(runs.sound == 100..<4_000)
    }

    @Test(arguments: sizes) func levelThatDropsBeforeTheEndIsAnEnding(size: Int) {
        let tone = Signal.tone(1_000, rate: 8_000, frames: 8_000, amplitude: 0.5)
        let whole = tone.followed(by: Signal.tone(1_000, rate: 8_000, frames: 4_000, amplitude: 0.05))
        var finder = EndingFinder(rate: 8_000, silence: 0.001)
        feed(whole.channels[0], by: size) { finder.add([$0], $1) }
        let ending = finder.place(drop: 7, end: 12_000)
        #expect(ending == 8_000)
        var steady = EndingFinder(rate: 8_000, silence: 0.001)
        feed(tone.channels[0], by: size) { steady.add([$0], $1) }
        let end = steady.place(drop: 7, end: 8_000)
        #expect(end == 8_000)
        var silent = EndingFinder(rate: 8_000, silence: 0.001)
        feed([Double](repeating: 0, count: 900), by: size) { silent.add([$0], $1) }
        let none = silent.place(drop: 7, end: 900)
        #expect(none == nil)
    }

    @Test(arguments: sizes) func channelsAreComparedToTheFrame(size: Int) {
        let first: [Double] = Self.sound(4_000).enumerated().map { (1_000..<1_010).contains($0) ? 0.0005 : $1 }
        var second = first.map { -$0 }
        for index in 1_000..<2_000 { second[index] = first[index] }
        Self.spread(0, over: 2_500..<3_500, in: &second)
        // Too short.
        for index in 3_600..<3_700 { second[index] = first[index] }
        Self.spread(0, over: 3_800..<4_000, in: &second)
        var silent = SilentChannelFinder(level: 0.001, shortest: 500, channel: 2)
        var equal = EqualChannelsFinder(level: 0.001, shortest: 500, channels: [1, 2])
        var points = StatedPoints()
        feed(first, by: size) { part, clock in
            let other = Array(second[Int(clock.position)..<Int(clock.position) + part.count])
            let loud: [Int] = zip(part, other).map { pair in [pair.0, pair.1].count { abs($0) > 0.001 } }
            silent.add(other, loud, clock, to: &points)
            equal.add(part, other, clock, to: &points)
        }
        silent.finish(&points)
        equal.finish(&points)
        let expected = [
            // Without the ten quiet frames before it.
            SourcePoint(.equalChannels, at: 1_010, frames: 990, channels: [1, 2]),
            SourcePoint(.silentChannel, at: 2_500, frames: 1_000, channels: [2]),
        ]
        #expect(points.points.sorted() == expected)
    }

    @Test func meanOfSamplesIsTheOffset() {
        var meter = OffsetMeter()
        for _ in 0..<10 { meter.add([0.5, -0.25, 0.5, -0.25]) }
        #expect(meter.mean == 0.125)
        #expect(OffsetMeter().mean == 0)
    }

    @Test func clockKeepsItsRateWhereAStreamChangesIt() {
        let clock = BlockClock(position: 1_000, blockRate: 16_000, rate: 8_000)
        #expect([0, 1, 2, 3, 1_000].map(clock.frame) == [1_000, 1_000, 1_001, 1_001, 1_500])
    }

    // MARK: Samples

    @Test(arguments: [
        Media.SampleFormat.u8, .s16, .s32, .f32, .f64, .u8Planar, .s16Planar, .s32Planar, .f32Planar, .f64Planar,
    ]) func samplesOfAllFormatsAreExact(format: Media.SampleFormat) throws {
        let values: [[Double]] = [[0.5, -0.25, 0, -1, 0.75], [0, 0.25, -0.5, 0.125, -0.75]]
        let signal = Signal(rate: 8_000, channels: values)
        var samples = ChannelSamples()
        var read: [[Double]] = [[], []]
        try signal.inBlocks(of: 3, as: format) { block in
            samples.fill(from: block)
            for channel in read.indices { read[channel] += samples.channels[channel] }
        }
        #expect(read == values)
    }

    @Test func countsStayTrueBeyondWhatIsListed() {
        var points = StatedPoints()
        for frame in 0..<5_000 { points.add(SourcePoint(.cue, at: Int64(frame))) }
        points.addUnread(70, .cue)
        points.add(SourcePoint(.loop, at: 3))
        var others = StatedPoints()
        others.add(points)
        let report = others.report(rate: 8_000, frames: 4_500)
        #expect(report.points.count == 4_001 && report.found == ["cue": 5_070] && report.outside == 0)
    }
}
