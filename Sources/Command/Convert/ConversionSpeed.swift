import Console
import Conversion

/// The speed of a conversion, and when it will end.
struct ConversionSpeed {
    let frames: Int64
    /// Frames to convert; `nil` if the length is unknown.
    let totalFrames: Int64?
    /// Seconds on the source's clock.
    let position: Double
    /// Seconds of sound per second.
    let factor: Double
    /// From 0 to 1; `nil` if the length is unknown.
    let share: Double?
    /// Seconds left; `nil` if unknown.
    let remaining: Double?
    /// Seconds of sound converted so far, and in all.
    private let taken: Double
    private let length: Double?

    /// `start` is the position on the source's clock where the work begins, in seconds.
    init(_ progress: ConversionProgress, from start: Double = 0, after seconds: Double) {
        let position = max(0, progress.position.seconds)
        if progress.measuredFrames != nil {
            let frames = progress.doneFrames
            let taken = Double(frames) / Double(max(1, progress.position.timescale))
            self.init(frames: frames, of: progress.totalFrames, taken: taken, position: position, after: seconds)
            return
        }
        self.init(
            frames: progress.frames,
            of: progress.totalFrames,
            taken: max(0, position - start),
            position: position,
            after: seconds
        )
    }

    init(frames: Int64, of totalFrames: Int64?, taken: Double, position: Double, after seconds: Double) {
        self.frames = frames
        self.totalFrames = totalFrames
        self.taken = taken
        self.position = position
        factor = seconds > 0 ? taken / seconds : 0
        if let total = totalFrames, total > 0 {
            let share = min(1, Double(frames) / Double(total))
            self.share = share
            remaining = share > 0 ? seconds / share - seconds : nil
            length = frames > 0 ? taken / Double(frames) * Double(total) : nil
        } else {
            (share, remaining, length) = (nil, nil, nil)
        }
    }

    var percent: String? { share.map { "\(Int($0 * 100))%" } }
    /// `41:20 of 1:06:40`: of the part to convert, which need not be the whole source.
    var place: String {
        Figures.clock(seconds: taken) + (length.map { " of \(Figures.clock(seconds: $0.rounded()))" } ?? "")
    }
    var speedText: String { Figures.speed(factor) }
    var remainingText: String? { remaining.map { "\(Figures.clock(seconds: $0.rounded(.up))) left" } }
}
