import Conversion
import Testing

@testable import Command
@testable import Console

/// The figures of the progress bar in the middle of a conversion.
struct ConversionSpeedTests {
    init() { Locale.useUTF8() }

    private func progress(at seconds: Int64, frames: Int64, of total: Int64?) -> ConversionProgress {
        ConversionProgress(position: MediaTime(value: seconds, timescale: 1), frames: frames, totalFrames: total)
    }

    @Test func halfIsHalf() {
        let speed = ConversionSpeed(progress(at: 30, frames: 240_000, of: 480_000), after: 2)
        #expect(speed.percent == "50%")
        #expect(speed.place == "0:30 of 1:00")
        #expect(speed.speedText == "15x")
        #expect(speed.remainingText == "0:02 left")
    }

    @Test func partIsCountedFromItsBeginning() {
        // Ten of thirty seconds, starting at 1:00.
        let speed = ConversionSpeed(progress(at: 70, frames: 80_000, of: 240_000), from: 60, after: 1)
        #expect(speed.place == "0:10 of 0:30")
        #expect(speed.speedText == "10x")
        #expect(speed.position == 70)
    }

    @Test func unknownLengthHasNoShare() {
        let speed = ConversionSpeed(progress(at: 30, frames: 240_000, of: nil), after: 2)
        #expect(speed.percent == nil)
        #expect(speed.remainingText == nil)
        #expect(speed.place == "0:30")
    }

    @Test func moreThanPromisedIsAll() {
        let speed = ConversionSpeed(progress(at: 61, frames: 488_000, of: 480_000), after: 1)
        #expect(speed.percent == "100%")
        #expect(speed.remaining == 0)
    }

    @Test func nothingYetIsNoSpeed() {
        let speed = ConversionSpeed(progress(at: 0, frames: 0, of: 480_000), after: 0)
        #expect(speed.factor == 0)
        #expect(speed.percent == "0%")
        #expect(speed.remaining == nil)
    }

    @Test(arguments: [true, false], [0.0, 0.01, 0.33, 0.5, 0.999, 1, 1.5, -1])
    func barIsAsWideAsItIsAllowed(unicode: Bool, share: Double) {
        #expect(Bar.text(share, columns: 20, unicode: unicode).displayWidth == 20)
    }

    @Test func barGrowsByEighths() {
        let bars = (0...160).map { Bar.text(Double($0) / 160, columns: 20, unicode: true) }
        #expect(Set(bars).count == 161)
        #expect(Bar.text(0.5, columns: 4, unicode: true) == "██  ")
        #expect(Bar.text(0.5, columns: 4, unicode: false) == "##..")
    }
}
