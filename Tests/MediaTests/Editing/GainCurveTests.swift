import TestSupport
import Testing

@testable import Media

@Suite struct GainCurveTests {
    private func gains(_ curve: GainCurve, _ count: Int, chunk: Int) throws -> [Float] {
        var block = try SampleBlock()
        let shape = SampleShape(format: .f32Planar, sampleRateHz: 8_000, channelCount: 1, channelMask: 4)
        var cursor = GainCursor(curve)
        var gains: [Float] = []
        for start in stride(from: 0, to: count, by: chunk) {
            let frames = min(chunk, count - start)
            try block.reserve(frames, shape)
            block.withFloats(0, as: Float.self) { samples in for index in samples.indices { samples[index] = 1 } }
            cursor.apply(to: &block, from: Int64(start), pan: nil)
            gains += try block.doubles()[0].map { Float($0) }
        }
        return gains
    }

    @Test func linearFadesMeetInTheMiddle() throws {
        var (rising, falling) = (GainCurve(), GainCurve())
        rising.add(.linear(from: 0, to: 1), over: 0..<100)
        falling.add(.linear(from: 1, to: 0), over: 0..<100)
        let (up, down) = (try gains(rising, 100, chunk: 7), try gains(falling, 100, chunk: 100))
        #expect(zip(up, down).allSatisfy { abs($0 + $1 - 1) < 1e-6 })
        #expect(up == down.reversed())
        #expect(up[0] == 0.005)
    }

    @Test func equalPowerFadesKeepThePower() throws {
        var (rising, falling) = (GainCurve(), GainCurve())
        rising.add(.rising, over: 0..<100)
        falling.add(.falling, over: 0..<100)
        let (up, down) = (try gains(rising, 100, chunk: 13), try gains(falling, 100, chunk: 9))
        #expect(zip(up, down).allSatisfy { abs($0 * $0 + $1 * $1 - 1) < 1e-6 })
    }

    @Test func theLengthOfBlocksChangesNothing() throws {
        var curve = GainCurve()
        curve.constant = 0.5
        curve.add(.decibel(from: 1, to: 0.1), over: 40..<200)
        curve.add(.linear(from: 0.1, to: 0.1), over: 200..<300)
        curve.add(.linear(from: 0, to: 1), over: 0..<60)
        curve.add(.linear(from: 1, to: 0), over: 250..<310)
        let whole = try gains(curve, 400, chunk: 400)
        for chunk in [1, 3, 64, 199] { #expect(try gains(curve, 400, chunk: chunk) == whole) }
        #expect(whole[399] == 0.5)
        #expect(whole[305] < 0.05)
    }

    @Test func decibelsGrowEvenly() throws {
        var curve = GainCurve()
        curve.add(.decibel(from: 0.01, to: 1), over: 0..<80)
        let found = try gains(curve, 80, chunk: 80)
        let steps = zip(found.dropFirst(), found).map { $0 / $1 }
        #expect(steps.allSatisfy { abs($0 - steps[0]) < 1e-5 })
    }
}
