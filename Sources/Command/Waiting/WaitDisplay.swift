import Console
import Ledger
import Records

/// Shows on standard error the progress of the jobs that a command waits for.
final class WaitDisplay {
    private let console: CommandOutput
    private let writer: ProgressWriter
    private let start = ContinuousClock.now
    private var first: (counts: JobCounts, passed: Duration)?

    /// The kind of the reason that was printed last, and when it last held.
    private var explained: (kind: String, at: ContinuousClock.Instant)?

    init(_ style: ProgressStyle, _ console: CommandOutput) {
        self.console = console
        writer = ProgressWriter(style, outlet: console.talk)
    }

    /// Writes only when an update is due; callers may call it often.
    func show(_ state: Waiting.State?) {
        guard let state else { return }
        explain(state.obstacle)
        let passed = ContinuousClock.now - start
        if first == nil { first = (state.counts, passed) }
        writer.show(progress(state.counts, passed))
    }

    private func progress(_ counts: JobCounts, _ passed: Duration) -> WaitProgress {
        WaitProgress(counts: counts, passed: passed, rate: rate(counts, passed))
    }

    /// Jobs that ended per second since the first look.
    private func rate(_ counts: JobCounts, _ passed: Duration) -> Double? {
        guard let first, counts.open > 0 else { return nil }
        let (ended, seconds) = (counts.ended - first.counts.ended, (passed - first.passed).seconds)
        return ended > 0 && seconds >= 1 ? Double(ended) / seconds : nil
    }

    /// Prints why nothing runs when the reason changes, or when it holds again after a minute. In between, a job may
    /// end a moment before the next one starts.
    private func explain(_ obstacle: Waiting.Obstacle?) {
        guard let obstacle, writer.isForPeople else { return }
        let now = ContinuousClock.now
        let isNews = explained.map { $0.kind != obstacle.kind || now - $0.at > .seconds(60) } ?? true
        explained = (obstacle.kind, now)
        if isNews { console.warn(obstacle.text) }
    }

    /// Writes the last record for programs; erases a bar.
    func finish(_ ending: Waiting.Ending?) {
        if let ending { explain(ending.state.obstacle) }
        guard let ending, !ending.isTimedOut else { return writer.clear() }
        writer.finish(progress(ending.state.counts, ContinuousClock.now - start))
    }
}

/// The progress of the jobs that a command waits for.
struct WaitProgress: ProgressRecord {
    let counts: JobCounts
    let passed: Duration
    /// Jobs that end per second; `nil` if unknown.
    let rate: Double?

    private var percent: String { "\(Int(counts.share * 100))%".aligned(to: 4) }

    func bar(on outlet: Outlet) -> String { outlet.bar(counts.share, "\(percent)   \(facts)") }

    var line: String { "\(percent)  \(facts)" }

    /// `3,851 done  2 failed  8 running  9.4 files/s  15 min left`
    private var facts: String {
        var facts = ["\(Figures.grouped(counts.completed)) done"]
        if counts.skipped > 0 { facts.append("\(Figures.grouped(counts.skipped)) skipped") }
        if counts.failed > 0 { facts.append("\(Figures.grouped(counts.failed)) failed") }
        if counts.cancelled > 0 { facts.append("\(Figures.grouped(counts.cancelled)) cancelled") }
        let running = counts.running + counts.publishing
        if running > 0 { facts.append("\(Figures.grouped(running)) running") }
        if running == 0, counts.open > 0 { facts.append("\(Figures.grouped(counts.open)) waiting") }
        if let rate { facts += TimeWords.pace(rate, left: Int(counts.open)) }
        return facts.joined(separator: "  ")
    }

    var values: [String] { JobState.allCases.map { "\($0.rawValue)=\(counts[$0])" } }

    struct Event: Encodable {
        let state: String
        let jobs: JobCounts
    }

    func event(_ state: String) -> Event { Event(state: state, jobs: counts) }
}
