import Console
import Ledger

/// Shows on standard error the progress of the jobs that a command waits for.
final class WaitDisplay {
    private let console: CommandOutput
    private let manner: Manner
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var first: (counts: JobCounts, time: ContinuousClock.Instant)?
    private var nextDue = Duration.zero

    /// The kind of the reason that was printed last, and when it last held.
    private var explained: (kind: String, at: ContinuousClock.Instant)?

    private var outlet: Outlet { console.talk }

    private enum Manner { case bar, lines, plain, json, none }

    init(_ style: ProgressStyle, _ console: CommandOutput) {
        self.console = console
        manner =
            switch style {
            case .auto: console.talk.isTerminal ? .bar : .lines
            case .bar: .bar
            case .plain: .plain
            case .json: .json
            case .none: .none
            }
        start = clock.now
        nextDue = manner == .lines ? .seconds(10) : manner == .bar ? .milliseconds(200) : .zero
    }

    /// Writes only when an update is due; callers may call it often.
    func show(_ state: Waiting.State?) {
        guard let state, manner != .none else { return }
        explain(state.obstacle)
        let (counts, now) = (state.counts, clock.now)
        if first == nil { first = (counts, now) }
        guard now - start >= nextDue else { return }
        nextDue = now - start + (manner == .lines ? .seconds(10) : manner == .bar ? .zero : .milliseconds(500))
        switch manner {
        case .bar: outlet.draw(bar: bar(counts, now))
        case .lines: write("\(percent(counts))  \(facts(counts, now).joined(separator: "  "))\n")
        case .plain: write(plain(counts, "continue"))
        case .json: write(json(counts, "running"))
        case .none: break
        }
    }

    /// Prints why nothing runs when the reason changes, or when it holds again after a minute. In between, a job may
    /// end a moment before the next one starts.
    private func explain(_ obstacle: Waiting.Obstacle?) {
        guard let obstacle, manner == .bar || manner == .lines else { return }
        let now = clock.now
        let isNews = explained.map { $0.kind != obstacle.kind || now - $0.at > .seconds(60) } ?? true
        explained = (obstacle.kind, now)
        if isNews { console.warn(obstacle.text) }
    }

    /// Writes the last record for programs; erases a bar.
    func finish(_ ending: Waiting.Ending?) {
        if let ending { explain(ending.state.obstacle) }
        switch (manner, ending) {
        case (.plain, let ending?) where !ending.isTimedOut: write(plain(ending.state.counts, "end"))
        case (.json, let ending?) where !ending.isTimedOut: write(json(ending.state.counts, "completed"))
        case (.bar, _): outlet.eraseBar()
        default: break
        }
    }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // The terminal is gone; the wait goes on.
        }
    }

    // MARK: - For people

    private func percent(_ counts: JobCounts) -> String { "\(Int(counts.share * 100))%".aligned(to: 4) }

    private func bar(_ counts: JobCounts, _ now: ContinuousClock.Instant) -> String {
        // Leave space for the ^C that the terminal echoes.
        let width = max(1, outlet.width - 3)
        let text = "\(percent(counts))   \(facts(counts, now).joined(separator: "  "))"
        let columns = width - text.displayWidth - 2
        guard columns >= 8 else { return text.shortened(to: width, unicode: outlet.usesUnicode) }
        return Bar.text(counts.share, columns: min(columns, 40), unicode: outlet.usesUnicode) + "  " + text
    }

    /// `3,851 done  2 failed  8 running  9.4 files/s  15 min left`
    private func facts(_ counts: JobCounts, _ now: ContinuousClock.Instant) -> [String] {
        var facts = ["\(Figures.grouped(counts.completed)) done"]
        if counts.skipped > 0 { facts.append("\(Figures.grouped(counts.skipped)) skipped") }
        if counts.failed > 0 { facts.append("\(Figures.grouped(counts.failed)) failed") }
        if counts.cancelled > 0 { facts.append("\(Figures.grouped(counts.cancelled)) cancelled") }
        let running = counts.running + counts.publishing
        if running > 0 { facts.append("\(Figures.grouped(running)) running") }
        if running == 0, counts.open > 0 { facts.append("\(Figures.grouped(counts.open)) waiting") }
        if let rate = rate(counts, now) {
            facts.append("\(Figures.decimals(rate, rate < 10 ? 1 : 0)) files/s")
            facts.append("\(TimeWords.span(seconds: Double(counts.open) / rate)) left")
        }
        return facts
    }

    /// Jobs that ended per second since the first look.
    private func rate(_ counts: JobCounts, _ now: ContinuousClock.Instant) -> Double? {
        guard let first, counts.open > 0 else { return nil }
        let (ended, seconds) = (counts.ended - first.counts.ended, (now - first.time).seconds)
        return ended > 0 && seconds >= 1 ? Double(ended) / seconds : nil
    }

    // MARK: - For programs

    private func plain(_ counts: JobCounts, _ state: String) -> String {
        JobState.allCases.map { "\($0.rawValue)=\(counts[$0])\n" }.joined() + "progress=\(state)\n"
    }

    private struct Event: Encodable {
        let state: String
        let jobs: JobCounts
    }

    private func json(_ counts: JobCounts, _ state: String) -> String {
        // The event holds only numbers and a word, which can always be encoded.
        (try? JSONText.line(Event(state: state, jobs: counts))).map { $0 + "\n" } ?? ""
    }
}
