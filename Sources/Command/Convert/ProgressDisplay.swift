import Console
import Conversion

/// Shows the progress of one conversion on standard error.
struct ProgressDisplay: Sendable {
    private let title: String
    /// The position on the source's clock where the work begins, in seconds.
    private let start: Double
    private let writer: ProgressWriter

    init(_ style: ProgressStyle, title: String, from start: MediaTime = .zero, outlet: Outlet) {
        (self.title, self.start) = (title.printable, start.seconds)
        writer = ProgressWriter(style, outlet: outlet)
    }

    /// Writes only when an update is due; callers may call it often.
    func show(_ progress: ConversionProgress?, after seconds: Double) {
        guard let progress else { return }
        let speed = ConversionSpeed(progress, from: start, after: seconds)
        writer.show(Record(title: title, speed: speed, passed: .seconds(seconds)))
    }

    /// Writes the last record for programs, with all frames; erases a bar.
    func finish(frames: Int64, rate: Int, after seconds: Double) {
        let taken = MediaTime(frames: frames, rate: rate).seconds
        let speed = ConversionSpeed(frames: frames, of: frames, taken: taken, position: start + taken, after: seconds)
        writer.finish(Record(title: title, speed: speed, passed: .seconds(seconds)))
    }

    /// Erases the bar.
    func clear() { writer.clear() }

    private struct Record: ProgressRecord {
        let title: String
        let speed: ConversionSpeed
        let passed: Duration

        func bar(on outlet: Outlet) -> String {
            let words = [speed.percent.map { $0.aligned(to: 4) }, speed.place, speed.speedText, speed.remainingText]
            let name = title.shortened(to: max(8, min(24, outlet.barWidth / 3)), unicode: outlet.usesUnicode)
            return outlet.bar(speed.share, title: name, words.compactMap { $0 }.joined(separator: "   "))
        }

        var line: String {
            ([title] + [speed.percent, speed.place, speed.speedText, speed.remainingText].compactMap { $0 })
                .joined(separator: "  ")
        }

        var values: [String] {
            var values = ["frames=\(speed.frames)"]
            if let total = speed.totalFrames { values.append("total_frames=\(total)") }
            values.append("position=\(Figures.decimals(speed.position, 3))")
            values.append("speed=\(Figures.decimals(speed.factor, 2))")
            if let remaining = speed.remaining { values.append("remaining=\(Figures.decimals(remaining, 1))") }
            return values
        }

        struct Event: Encodable {
            let state: String
            let frames: Int64
            let totalFrames: Int64?
            let positionSeconds: String
            let speed: Double
            let remainingSeconds: Double?
        }

        func event(_ state: String) -> Event {
            Event(
                state: state,
                frames: speed.frames,
                totalFrames: speed.totalFrames,
                positionSeconds: Figures.decimals(speed.position, 6),
                speed: (speed.factor * 100).rounded() / 100,
                remainingSeconds: speed.remaining.map { ($0 * 10).rounded() / 10 }
            )
        }
    }
}
