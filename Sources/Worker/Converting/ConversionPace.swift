import Conversion
import Ledger

/// How fast a conversion is, from its first sign of progress to its last.
///
/// Not from when the slot took the job: beside others of the same slot, it may have waited for them.
struct ConversionPace: Sendable {
    private let first: Sign
    private var last: Sign
    private var totalFrames: Int64?
    private let rateHz: Int
    /// All frames are written and are being read back, which takes a time that cannot be foreseen.
    private var isVerifying: Bool

    private struct Sign {
        let frames: Int64
        let time: ContinuousClock.Instant
    }

    init(_ progress: ConversionProgress, at time: ContinuousClock.Instant) {
        first = Sign(frames: progress.frames, time: time)
        last = first
        totalFrames = progress.totalFrames
        // The pump tells positions in frames of the source.
        rateHz = Int(progress.position.timescale)
        isVerifying = progress.verifiedFrames != nil
    }

    mutating func note(_ progress: ConversionProgress, at time: ContinuousClock.Instant) {
        // The frames stand still from then on, and would make the speed sink.
        isVerifying = progress.verifiedFrames != nil
        guard !isVerifying else { return }
        last = Sign(frames: progress.frames, time: time)
        totalFrames = progress.totalFrames
    }

    /// For people, to a tenth; `nil` as long as nothing can be said.
    func told(of job: Int64) -> JobPace? {
        let seconds = (last.time - first.time) / .seconds(1)
        let framesPerSecond = (Double(last.frames) - Double(first.frames)) / seconds
        guard seconds > 0, rateHz > 0, framesPerSecond > 0, framesPerSecond.isFinite else { return nil }
        let remaining =
            isVerifying ? nil : totalFrames.map { max(0, Double($0) - Double(last.frames)) / framesPerSecond }
        return JobPace(
            job: job,
            speed: Self.tenths(framesPerSecond / Double(rateHz)),
            remaining: remaining.map(Self.tenths)
        )
    }

    private static func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }
}
