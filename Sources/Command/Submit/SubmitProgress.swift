import Console
import Conversion

/// Shows on a terminal how far a submission is: it finds files, plans their jobs, compares them with earlier ones and sends
/// them.
final class SubmitProgress {
    /// A count on its way to a known number. `total` is zero before the work begins.
    struct Count: Sendable, Equatable {
        var done = 0
        var total = 0
    }

    /// Fewer files take no time.
    private static let fewest = 512
    private let outlet: Outlet
    private let isShown: Bool
    private let clock = ContinuousClock()
    private var nextDue: ContinuousClock.Instant
    private var found = 0
    private var isDrawn = false
    private var sendingSince: ContinuousClock.Instant?

    init(_ style: ProgressStyle, outlet: Outlet) {
        self.outlet = outlet
        isShown = outlet.isTerminal && (style == .auto || style == .bar)
        // Shorter work needs no progress.
        nextDue = clock.now + .milliseconds(200)
    }

    convenience init(_ invocation: Invocation, _ console: CommandOutput) {
        self.init(invocation[ProgressStyle.option], outlet: console.talk)
    }

    /// Counts a file that was found.
    func addFile() {
        found += 1
        // The clock is not read for each of a million files.
        if isShown, found % Self.fewest == 0, isDue() { draw(nil, Self.words(found: found)) }
    }

    /// Tells how many of the objects that a list names have been looked at. Callers call it ten times a second.
    func look(at done: Int, of total: Int) {
        guard isShown, isDue() else { return }
        let count = Count(done: done, total: total)
        draw(count.share, Self.words(count, "object", "looked at"))
    }

    /// Tells how many of the files have been planned.
    func plan(_ done: Int, of total: Int) {
        guard isShown, done % Self.fewest == 0, isDue() else { return }
        let count = Count(done: done, total: total)
        draw(count.share, Self.words(count, "file", "planned"))
    }

    /// Tells what the ledger and the files were asked, and what was prepared: written to the ledger, or to the file that a
    /// coordinator gets. Callers call it ten times a second.
    func show(compared: Count, sent: Count) {
        guard isShown, max(compared.total, sent.total) >= Self.fewest else { return }
        if sent.done > 0 {
            let since = sendingSince ?? clock.now
            sendingSince = since
            draw(sent.share, Self.words(sent: sent, passed: clock.now - since))
        } else if compared.done > 0 {
            draw(compared.share, Self.words(compared, "file", "compared"))
        }
    }

    func clear() {
        if isDrawn { outlet.eraseBar() }
        isDrawn = false
    }

    private func isDue() -> Bool {
        let now = clock.now
        guard now >= nextDue else { return false }
        nextDue = now + .milliseconds(100)
        return true
    }

    private func draw(_ share: Double?, _ facts: String) {
        outlet.draw(bar: outlet.bar(share, facts))
        isDrawn = true
    }

    // MARK: - Words

    /// `482,113 files found`
    static func words(found: Int) -> String { "\(Figures.count(found, "file")) found" }

    /// `120,000 of 482,113 files planned`
    static func words(_ count: Count, _ noun: String, _ what: String) -> String {
        "\(Figures.grouped(count.done)) of \(Figures.count(count.total, noun)) \(what)"
    }

    /// `310,000 of 482,113 jobs prepared  33,000 jobs/s  5 s left`, and at the end what the command waits for.
    static func words(sent: Count, passed: Duration) -> String {
        guard sent.done < sent.total else {
            return "\(Figures.count(sent.total, "job")) prepared; waiting until the ledger has added them"
        }
        var facts = [words(sent, "job", "prepared")]
        let seconds = passed.seconds
        if seconds >= 1 {
            let rate = Double(sent.done) / seconds
            facts.append("\(Figures.grouped(Int(rate))) jobs/s")
            facts.append("\(TimeWords.span(seconds: Double(sent.total - sent.done) / rate)) left")
        }
        return facts.joined(separator: "  ")
    }
}

extension SubmitProgress.Count {
    fileprivate var share: Double { total == 0 ? 0 : Double(done) / Double(total) }
}
