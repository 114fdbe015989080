import Conversion
import Synchronization

/// How progress is told, as `--progress` says it.
enum ProgressStyle: String, Sendable, CaseIterable {
    case auto, bar, plain, json, none

    var summary: String {
        switch self {
        case .auto: "a bar on a terminal, a line every ten seconds elsewhere"
        case .bar: "a bar, redrawn in place"
        case .plain: "blocks of key=value lines, for programs"
        case .json: "JSON Lines, for programs"
        case .none: "nothing"
        }
    }
}

enum ProgressOption {
    static let option = SettledOption<ProgressStyle>(
        "progress",
        .choice("STYLE") { $0.summary },
        fallback: "auto",
        "how to show progress, on standard error",
        environment: "SLUICE_PROGRESS",
        in: .output
    )
}

/// Shows how far one conversion is, on standard error.
final class ProgressDisplay: Sendable {
    private let title: String
    private let outlet: Outlet
    private let manner: Manner
    private let state = Mutex(State())

    private enum Manner { case bar, lines, plain, json, none }

    private struct State {
        var isDrawn = false
        /// When the next line or block is due, in seconds from the start.
        var nextDue = 0.0
    }

    init(_ style: ProgressStyle, title: String, outlet: Outlet) {
        self.title = title.printable
        self.outlet = outlet
        manner =
            switch style {
            case .auto: outlet.isTerminal ? .bar : .lines
            case .bar: .bar
            case .plain: .plain
            case .json: .json
            case .none: .none
            }
        // What takes no longer than a blink needs no bar, and a line only comes for what takes long.
        state.withLock { $0.nextDue = manner == .lines ? 10 : manner == .bar ? 0.2 : 0 }
    }

    /// Called often; writes when something is due.
    func show(_ progress: ConversionProgress?, after seconds: Double) {
        guard let progress else { return }
        let isDue = state.withLock { state in
            guard seconds >= state.nextDue else { return false }
            state.nextDue = seconds + (manner == .lines ? 10 : manner == .bar ? 0 : 0.5)
            state.isDrawn = true
            return true
        }
        guard isDue else { return }
        let pace = Pace(progress, after: seconds)
        switch manner {
        case .bar: write("\r\u{1B}[K" + bar(pace))
        case .lines: write(line(pace) + "\n")
        case .plain: write(plain(pace, "continue"))
        case .json: write(json(pace, "running"))
        case .none: break
        }
    }

    /// The last block for programs; a bar goes away.
    func finish(_ report: ConversionReport, after seconds: Double) {
        let end = ConversionProgress(
            position: MediaTime(frames: report.source.frames, rate: report.source.sampleRateHz),
            frames: report.source.frames,
            totalFrames: report.source.frames
        )
        let pace = Pace(end, after: seconds)
        switch manner {
        case .plain: write(plain(pace, "end"))
        case .json: write(json(pace, "completed"))
        case .bar, .lines, .none: clear()
        }
    }

    /// Takes a bar off the screen.
    func clear() {
        let isDrawn = state.withLock { $0.isDrawn }
        if manner == .bar, isDrawn { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // Nobody looks any more; the conversion goes on.
        }
    }

    // MARK: For people

    private func bar(_ pace: Pace) -> String {
        let width = outlet.width
        let words = [pace.percent.map { $0.aligned(to: 4) }, pace.place, pace.speedText, pace.remainingText]
        let facts = words.compactMap { $0 }.joined(separator: "   ")
        let name = title.shortened(to: max(8, min(24, width / 3)), unicode: outlet.usesUnicode)
        let room = width - name.displayWidth - facts.displayWidth - 5
        guard let share = pace.share, room >= 8 else {
            return "\(name)  \(facts)".shortened(to: max(1, width - 1), unicode: outlet.usesUnicode)
        }
        return "\(name)  \(Bar.text(share, columns: min(room, 40), unicode: outlet.usesUnicode))  \(facts)"
    }

    private func line(_ pace: Pace) -> String {
        ([title] + [pace.percent, pace.place, pace.speedText, pace.remainingText].compactMap { $0 })
            .joined(separator: "  ")
    }

    // MARK: For programs

    private func plain(_ pace: Pace, _ state: String) -> String {
        var lines = ["frames=\(pace.progress.frames)"]
        if let total = pace.progress.totalFrames { lines.append("total_frames=\(total)") }
        lines.append("position=\(Figures.decimals(pace.position, 3))")
        lines.append("speed=\(Figures.decimals(pace.speed, 2))")
        if let remaining = pace.remaining { lines.append("remaining=\(Figures.decimals(remaining, 1))") }
        return lines.joined(separator: "\n") + "\nprogress=\(state)\n"
    }

    private struct Event: Encodable {
        let state: String
        let frames: Int64
        let totalFrames: Int64?
        let positionSeconds: String
        let speed: Double
        let remainingSeconds: Double?
    }

    private func json(_ pace: Pace, _ state: String) -> String {
        let event = Event(
            state: state,
            frames: pace.progress.frames,
            totalFrames: pace.progress.totalFrames,
            positionSeconds: Figures.decimals(pace.position, 6),
            speed: (pace.speed * 100).rounded() / 100,
            remainingSeconds: pace.remaining.map { ($0 * 10).rounded() / 10 }
        )
        // Finite numbers and text are all that is in it, and these can always be encoded.
        return (try? JSONText.line(event)).map { $0 + "\n" } ?? ""
    }
}

/// How fast a conversion is, and when it will be through.
struct Pace {
    let progress: ConversionProgress
    /// Seconds on the source's clock.
    let position: Double
    /// Seconds of sound per second.
    let speed: Double
    /// From 0 to 1; `nil` where the length is not known.
    let share: Double?
    /// Seconds to go; `nil` where nobody can tell.
    let remaining: Double?
    private let length: Double?

    init(_ progress: ConversionProgress, after seconds: Double) {
        self.progress = progress
        position = max(0, progress.position.seconds)
        speed = seconds > 0 ? position / seconds : 0
        if let total = progress.totalFrames, total > 0 {
            let share = min(1, Double(progress.frames) / Double(total))
            self.share = share
            remaining = share > 0 ? seconds / share - seconds : nil
            length = progress.frames > 0 ? position / Double(progress.frames) * Double(total) : nil
        } else {
            (share, remaining, length) = (nil, nil, nil)
        }
    }

    var percent: String? { share.map { "\(Int($0 * 100))%" } }
    var place: String {
        Figures.clock(seconds: position) + (length.map { " of \(Figures.clock(seconds: $0.rounded()))" } ?? "")
    }
    var speedText: String { Figures.speed(speed) }
    var remainingText: String? { remaining.map { "\(Figures.clock(seconds: $0.rounded(.up))) left" } }
}

/// A share of a whole as a bar, fine to an eighth of a column.
enum Bar {
    static func text(_ share: Double, columns: Int, unicode: Bool) -> String {
        let share = min(1, max(0, share))
        guard unicode else {
            let full = Int(share * Double(columns))
            return String(repeating: "#", count: full) + String(repeating: ".", count: columns - full)
        }
        let eighths = Int((share * Double(columns * 8)).rounded(.down))
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        let bar = String(repeating: "█", count: eighths / 8) + part
        return bar.padded(to: columns)
    }
}
