import Conversion
import Ledger
import Testing

@testable import WorkerRules

/// The speed of a conversion.
struct SpeedMeterTests {
    private let start = ContinuousClock.now

    private func progress(_ frames: Int64, of total: Int64? = 480_000) -> ConversionProgress {
        // The range starts at the tenth second of the source, so the position differs from the frames taken.
        let position = MediaTime(frames: frames + 480_000, rate: 48_000)
        return ConversionProgress(position: position, frames: frames, totalFrames: total)
    }

    @Test func speedIsMeasuredFromTheFirstSignOfProgress() {
        var meter = SpeedMeter(progress(48_000), at: start)
        #expect(meter.rounded(for: 7) == nil)
        meter.note(progress(144_000), at: start + .milliseconds(500))
        #expect(meter.rounded(for: 7) == JobSpeed(job: 7, speed: 4, remaining: 1.8))
        meter.note(progress(480_000), at: start + .seconds(3))
        #expect(meter.rounded(for: 7) == JobSpeed(job: 7, speed: 3, remaining: 0))
    }

    @Test func verifyingLeavesTheSpeedAndSaysNotThatNothingRemains() {
        var meter = SpeedMeter(progress(48_000), at: start)
        meter.note(progress(480_000), at: start + .seconds(3))
        for second in 4...60 {
            var verifying = progress(480_000)
            verifying.verifiedFrames = Int64(second) * 8_000
            meter.note(verifying, at: start + .seconds(second))
            #expect(meter.rounded(for: 7) == JobSpeed(job: 7, speed: 3))
        }
    }

    @Test func whatIsNotKnownIsNotSaid() {
        var meter = SpeedMeter(progress(48_000, of: nil), at: start)
        meter.note(progress(48_000, of: nil), at: start + .seconds(1))
        #expect(meter.rounded(for: 7) == nil)
        meter.note(progress(96_000, of: nil), at: start)
        #expect(meter.rounded(for: 7) == nil)
        meter.note(progress(96_000, of: nil), at: start + .seconds(2))
        #expect(meter.rounded(for: 7) == JobSpeed(job: 7, speed: 0.5))
    }
}
