import Console
import Conversion
import Synchronization

/// How to show progress: the values of `--progress`.
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
        "how to show progress on standard error",
        environment: "SLUICE_PROGRESS",
        in: .output
    )
}

/// Shows the progress of one conversion on standard error.
final class ProgressDisplay: Sendable {
    private let title: String
    /// The position on the source's clock where the work begins, in seconds.
    private let start: Double
    private let outlet: Outlet
    private let manner: Manner
    private let state = Mutex(State())

    private enum Manner { case bar, lines, plain, json, none }

    private struct State {
        /// When the next line or block is due, in seconds from the start.
        var nextDue = 0.0
    }

    init(_ style: ProgressStyle, title: String, from start: MediaTime = .zero, outlet: Outlet) {
        self.title = title.printable
        self.start = start.seconds
        self.outlet = outlet
        manner =
            switch style {
            case .auto: outlet.isTerminal ? .bar : .lines
            case .bar: .bar
            case .plain: .plain
            case .json: .json
            case .none: .none
            }
        // A bar appears only after 0.2 s, a line only after 10 s: shorter work needs neither.
        state.withLock { $0.nextDue = manner == .lines ? 10 : manner == .bar ? 0.2 : 0 }
    }

    /// Writes only when an update is due; callers may call it often.
    func show(_ progress: ConversionProgress?, after seconds: Double) {
        guard let progress else { return }
        let isDue = state.withLock { state in
            guard seconds >= state.nextDue else { return false }
            state.nextDue = seconds + (manner == .lines ? 10 : manner == .bar ? 0 : 0.5)
            return true
        }
        guard isDue else { return }
        let speed = ConversionSpeed(progress, from: start, after: seconds)
        switch manner {
        case .bar: outlet.draw(bar: bar(speed))
        case .lines: write(line(speed) + "\n")
        case .plain: write(plain(speed, "continue"))
        case .json: write(json(speed, "running"))
        case .none: break
        }
    }

    /// Writes the last record for programs, with all frames; erases a bar.
    func finish(frames: Int64, rate: Int, after seconds: Double) {
        let taken = MediaTime(frames: frames, rate: rate).seconds
        let speed = ConversionSpeed(frames: frames, of: frames, taken: taken, position: start + taken, after: seconds)
        switch manner {
        case .plain: write(plain(speed, "end"))
        case .json: write(json(speed, "completed"))
        case .bar, .lines, .none: clear()
        }
    }

    /// Erases the bar.
    func clear() { outlet.eraseBar() }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // The terminal is gone; the conversion goes on.
        }
    }

    // MARK: For people

    private func bar(_ speed: ConversionSpeed) -> String {
        // Leave space for the ^C or ^Z that the terminal echoes: a line that they wrapped could not be erased.
        let width = outlet.width - 3
        let words = [speed.percent.map { $0.aligned(to: 4) }, speed.place, speed.speedText, speed.remainingText]
        let facts = words.compactMap { $0 }.joined(separator: "   ")
        let name = title.shortened(to: max(8, min(24, width / 3)), unicode: outlet.usesUnicode)
        let barColumns = width - name.displayWidth - facts.displayWidth - 4
        guard let share = speed.share, barColumns >= 8 else {
            return "\(name)  \(facts)".shortened(to: max(1, width), unicode: outlet.usesUnicode)
        }
        return "\(name)  \(Bar.text(share, columns: min(barColumns, 40), unicode: outlet.usesUnicode))  \(facts)"
    }

    private func line(_ speed: ConversionSpeed) -> String {
        ([title] + [speed.percent, speed.place, speed.speedText, speed.remainingText].compactMap { $0 })
            .joined(separator: "  ")
    }

    // MARK: For programs

    private func plain(_ speed: ConversionSpeed, _ state: String) -> String {
        var lines = ["frames=\(speed.frames)"]
        if let total = speed.totalFrames { lines.append("total_frames=\(total)") }
        lines.append("position=\(Figures.decimals(speed.position, 3))")
        lines.append("speed=\(Figures.decimals(speed.factor, 2))")
        if let remaining = speed.remaining { lines.append("remaining=\(Figures.decimals(remaining, 1))") }
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

    private func json(_ speed: ConversionSpeed, _ state: String) -> String {
        let event = Event(
            state: state,
            frames: speed.frames,
            totalFrames: speed.totalFrames,
            positionSeconds: Figures.decimals(speed.position, 6),
            speed: (speed.factor * 100).rounded() / 100,
            remainingSeconds: speed.remaining.map { ($0 * 10).rounded() / 10 }
        )
        // The event holds only finite numbers and text, which can always be encoded.
        return (try? JSONText.line(event)).map { $0 + "\n" } ?? ""
    }
}
