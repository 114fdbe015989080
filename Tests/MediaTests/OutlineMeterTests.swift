import Conversion
import TestSupport
import Testing

@testable import Media

/// The outline of a sound: its extremes and its loudness in equal parts, of which there are never too many.
struct OutlineMeterTests {
    @Test(arguments: [0, 1, 999, 1_000, 1_001, 1_002, 1_999, 2_000, 2_001, 2_003, 4_001, 9_999])
    func partsHaveTheExtremesOfTheirSteps(steps: Int) {
        var meter = OutlineMeter()
        // In ten-thousandths, as the outline has them.
        let lows: [Float] = (0..<steps).map { step in -Float(step * 7 % 9_001) / 10_000 }
        let highs: [Float] = (0..<steps).map { step in Float(step * 13 % 8_999) / 10_000 }
        for step in 0..<steps {
            meter.add([lows[step], 0, highs[step]], count: 3)
            meter.endStep(momentary: 0)
        }
        let outline = meter.outline
        let length = Int((outline.secondsPerPart * 100).rounded())
        #expect(length == 1 || steps > SoundOutline.mostParts * length / 2)
        #expect(outline.lowest.count <= SoundOutline.mostParts)
        let starts = Array(stride(from: 0, to: steps, by: length))
        func figure(_ sample: Float?) -> Double { (Double(sample ?? 0) * 10_000).rounded() / 10_000 + 0 }
        let lowest: [Double] = starts.map { figure(lows[$0..<min($0 + length, steps)].min()) }
        let highest: [Double] = starts.map { figure(highs[$0..<min($0 + length, steps)].max()) }
        #expect(outline.lowest == lowest && outline.highest == highest)
        #expect(outline.momentaryLUFS == [Double?](repeating: nil, count: starts.count))
    }

    @Test func aPartOfAStepAtTheEndCounts() {
        var meter = OutlineMeter()
        for _ in 0..<SoundOutline.mostParts {
            meter.add([0.25], count: 1)
            meter.endStep(momentary: 1)
        }
        meter.add([-0.5], count: 1)
        let outline = meter.outline
        #expect(outline.lowest.count == SoundOutline.mostParts / 2 + 1 && outline.lowest.last == -0.5)
        #expect(outline.momentaryLUFS.first == -0.7 && outline.momentaryLUFS.last == .some(nil))
    }

    @Test func samplesThatAreNoneLeaveNothing() {
        var meter = OutlineMeter()
        meter.add([.nan, .nan], count: 2)
        meter.endStep(momentary: .nan)
        meter.add([.infinity, -.infinity], count: 2)
        meter.endStep(momentary: .infinity)
        let outline = meter.outline
        #expect(outline.lowest == [0, -1_000] && outline.highest == [0, 1_000])
        #expect(outline.momentaryLUFS == [nil, nil])
    }

    @Test func aToneAndTheSilenceBehindIt() throws {
        let tone = Signal.tone(1_000, rate: 48_000, frames: 48_000, channels: 2, amplitude: 0.5)
        let silence = Signal.tone(1_000, rate: 48_000, frames: 48_000, channels: 2, amplitude: 0)
        var meter: LoudnessMeter?
        try tone.followed(by: silence).inBlocks(of: 1_152, as: .s16, mask: ChannelLayout.stereo.mask) { block in
            if meter == nil, let shape = block.shape { meter = try LoudnessMeter(shape: shape, outlining: true) }
            try meter?.add(&block)
        }
        let used = try #require(meter)
        _ = try used.finish()
        let outline = try #require(used.outline)
        #expect(outline.secondsPerPart == 0.01 && outline.lowest.count == 200 && outline.highest.count == 200)
        func are(_ figures: ArraySlice<Double>, near value: Double) -> Bool {
            figures.allSatisfy { figure in abs(figure - value) < 0.001 }
        }
        #expect(are(outline.highest[..<100], near: 0.5) && are(outline.lowest[..<100], near: -0.5))
        #expect(are(outline.highest[100...], near: 0) && are(outline.lowest[100...], near: 0))
        // A stereo tone of 1 kHz has as many LUFS as its peak has dBFS. The window of 400 ms is full after 40 parts.
        let levels: [Double] = outline.momentaryLUFS.map { level in level ?? -99 }
        let areSteady = levels[40..<100].allSatisfy { level in abs(level + 6.02) < 0.15 }
        #expect(areSteady)
        // Half of the window is silent: 3 dB less.
        #expect(abs(levels[119] + 9.03) < 0.15)
        #expect(levels[145...] == ArraySlice(repeating: -99, count: 55))
    }
}
