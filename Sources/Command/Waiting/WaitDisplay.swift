import API
import Console
import Conversion
import Ledger

/// Shows on standard error the progress of the jobs that a command waits for.
final class WaitDisplay {
    private let console: CommandOutput
    private let writer: ProgressWriter
    private let start = ContinuousClock.now
    private var first: (done: Double, passed: Duration)?

    /// The kind of the reason that was printed last, and when it last held.
    private var explained: (kind: String, at: ContinuousClock.Instant)?

    /// Whether notes say why nothing runs.
    private let explains: Bool

    /// The style to use. `--quiet` alone shows no progress: under cron it would be mail each night.
    static func style(_ invocation: Invocation) -> ProgressStyle? {
        let isUsual = invocation.origin(of: ProgressStyle.option.form) == .fallback
        return invocation[SubmitOptions.quiet] && isUsual ? nil : invocation[ProgressStyle.option]
    }

    /// Without a style it shows no progress, and still says why nothing runs.
    init(_ style: ProgressStyle?, _ console: CommandOutput) {
        self.console = console
        let writer = ProgressWriter(style ?? ProgressStyle.none, outlet: console.talk)
        explains = style == nil || writer.isForPeople
        self.writer = writer
    }

    var isForPeople: Bool { writer.isForPeople }

    /// Writes only when an update is due; callers may call it often.
    func show(_ state: Waiting.State?) {
        guard let state else { return }
        explain(state.obstacle)
        let passed = ContinuousClock.now - start
        let progress = progress(state, passed)
        if first == nil { first = (progress.done, passed) }
        writer.show(progress)
    }

    private func progress(_ state: Waiting.State, _ passed: Duration) -> WaitProgress {
        var progress = WaitProgress(
            counts: state.counts,
            partlyDone: state.partlyDone,
            claimed: state.claimed,
            passed: passed
        )
        // Where nothing runs, no time that is left can be told.
        if state.obstacle == nil, let first, progress.counts.open > 0 {
            let (done, seconds) = (progress.done - first.done, (passed - first.passed).seconds)
            if done > 0, seconds >= 1 { progress.rate = done / seconds }
        }
        return progress
    }

    /// Prints why nothing runs when the reason changes, or when it holds again after a minute. In between, a job may
    /// end a moment before the next one starts.
    private func explain(_ obstacle: Waiting.Obstacle?) {
        guard let obstacle, explains else { return }
        let now = ContinuousClock.now
        let isNew = explained.map { $0.kind != obstacle.kind || now - $0.at > .seconds(60) } ?? true
        explained = (obstacle.kind, now)
        if isNew { console.warn(obstacle.text) }
    }

    /// Writes the last record for programs; erases a bar.
    func finish(_ ending: Waiting.Ending?) {
        if let ending { explain(ending.state.obstacle) }
        guard let ending, !ending.isTimedOut else { return writer.clear() }
        writer.finish(progress(ending.state, ContinuousClock.now - start))
    }
}

/// The progress of the jobs that a command waits for.
struct WaitProgress: ProgressRecord {
    let counts: JobCounts
    /// How many jobs the done parts of the running ones make together.
    let partlyDone: Double
    /// How many of the running ones no room converts yet, as far as that is seen.
    let claimed: Int
    let passed: Duration
    /// Jobs per second, with parts of running ones; `nil` if unknown.
    var rate: Double?

    /// Jobs that have ended, and parts of those that run.
    var done: Double { Double(counts.ended) + partlyDone }
    private var share: Double { counts.total == 0 ? 1 : done / Double(counts.total) }
    private var percent: String { "\(Int(share * 100))%".aligned(to: 4) }

    func bar(on outlet: Outlet) -> String { outlet.bar(share, "\(percent)   \(facts)") }

    var line: String { "\(percent)  \(facts)" }

    /// `3,851 done  2 failed  8 running  9.4 files/s  15 min left`
    private var facts: String {
        var facts = ["\(Figures.grouped(counts.completed)) done"]
        if counts.skipped > 0 { facts.append("\(Figures.grouped(counts.skipped)) skipped") }
        if counts.failed > 0 { facts.append("\(Figures.grouped(counts.failed)) failed") }
        if counts.accepted > 0 { facts.append("\(Figures.grouped(counts.accepted)) accepted") }
        if counts.cancelled > 0 { facts.append("\(Figures.grouped(counts.cancelled)) cancelled") }
        let claimed = min(claimed, counts.running)
        let running = counts.running - claimed + counts.publishing
        if running > 0 { facts.append("\(Figures.grouped(running)) running") }
        if claimed > 0 { facts.append("\(Figures.grouped(claimed)) claimed") }
        if running + claimed == 0, counts.open > 0 { facts.append("\(Figures.grouped(counts.open)) waiting") }
        if let rate { facts += TimeWords.pace(rate, left: Double(counts.total) - done) }
        return facts.joined(separator: "  ")
    }

    var values: [String] { JobState.allCases.map { "\($0.rawValue)=\(counts[$0])" } }

    struct Event: Encodable {
        let state: String
        let jobs: JobCounts
    }

    func event(_ state: String) -> Event { Event(state: state, jobs: counts) }
}
