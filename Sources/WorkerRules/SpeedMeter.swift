import Conversion
import Ledger

/// The speed of a conversion, from its first progress report to its last.
///
/// The time before the first report does not count, because the job may have waited for other jobs of the same slot.
struct SpeedMeter: Sendable {
    private let first: Sign
    private var last: Sign
    private var totalFrames: Int64?
    private let rateHz: Int
    /// All frames are written and are being read back, for which the remaining time cannot be predicted.
    private var isVerifying: Bool

    private struct Sign {
        let frames: Int64
        let time: ContinuousClock.Instant
    }

    init(_ progress: ConversionProgress, at time: ContinuousClock.Instant) {
        first = Sign(frames: progress.doneFrames, time: time)
        last = first
        totalFrames = progress.totalFrames
        // The pump reports positions in frames of the source.
        rateHz = Int(progress.position.timescale)
        isVerifying = progress.verifiedFrames != nil
    }

    mutating func note(_ progress: ConversionProgress, at time: ContinuousClock.Instant) {
        // During verification the frame count stands still, which would make the speed drop.
        isVerifying = progress.verifiedFrames != nil
        guard !isVerifying else { return }
        last = Sign(frames: progress.doneFrames, time: time)
        totalFrames = progress.totalFrames
    }

    /// The speed for display, rounded to tenths; `nil` until a speed is known.
    func rounded(for job: Int64) -> JobSpeed? {
        let seconds = (last.time - first.time) / .seconds(1)
        let framesPerSecond = (Double(last.frames) - Double(first.frames)) / seconds
        guard seconds > 0, rateHz > 0, framesPerSecond > 0, framesPerSecond.isFinite else { return nil }
        let remaining =
            isVerifying ? nil : totalFrames.map { max(0, Double($0) - Double(last.frames)) / framesPerSecond }
        return JobSpeed(
            job: job,
            speed: Self.tenths(framesPerSecond / Double(rateHz)),
            remaining: remaining.map(Self.tenths)
        )
    }

    private static func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }
}
