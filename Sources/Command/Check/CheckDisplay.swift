import Console

/// Draws the progress of a check on standard error.
final class CheckDisplay {
    private let outlet: Outlet
    private let manner: Manner
    private let start = ContinuousClock.now
    private var nextDue: Duration

    private enum Manner { case bar, lines, plain, json, none }

    init(_ style: ProgressStyle, outlet: Outlet) {
        self.outlet = outlet
        manner =
            switch style {
            case .auto: outlet.isTerminal ? .bar : .lines
            case .bar: .bar
            case .plain: .plain
            case .json: .json
            case .none: .none
            }
        nextDue = manner == .lines ? .seconds(10) : manner == .bar ? .milliseconds(200) : .zero
    }

    /// Writes only when an update is due; callers may call it often.
    func show(_ tally: OutputCheck.Tally) {
        let passed = ContinuousClock.now - start
        guard manner != .none, passed >= nextDue, tally.total > 0 else { return }
        nextDue = passed + (manner == .lines ? .seconds(10) : manner == .bar ? .zero : .milliseconds(500))
        switch manner {
        case .bar: outlet.draw(bar: bar(tally, passed))
        case .lines: write("\(percent(tally))  \(facts(tally, passed))\n")
        case .plain: write(plain(tally, "continue"))
        case .json: write(json(tally, "running"))
        case .none: break
        }
    }

    /// Erases the bar, before a line of data or for good.
    func clear() {
        outlet.eraseBar()
    }

    /// Writes the last record for programs; `nil` means that the check did not finish.
    func finish(_ tally: OutputCheck.Tally?) {
        clear()
        guard let tally else { return }
        if manner == .plain { write(plain(tally, "end")) }
        if manner == .json { write(json(tally, "completed")) }
    }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // The reader has closed the pipe; the check goes on.
        }
    }

    private func share(_ tally: OutputCheck.Tally) -> Double {
        min(1, Double(tally.done) / Double(max(1, tally.total)))
    }

    private func percent(_ tally: OutputCheck.Tally) -> String { "\(Int(share(tally) * 100))%".aligned(to: 4) }

    private func bar(_ tally: OutputCheck.Tally, _ passed: Duration) -> String {
        let width = max(1, outlet.width - 3)
        let text = "\(percent(tally))   \(facts(tally, passed))"
        let columns = width - text.displayWidth - 2
        guard columns >= 8 else { return text.shortened(to: width, unicode: outlet.usesUnicode) }
        return Bar.text(share(tally), columns: min(columns, 40), unicode: outlet.usesUnicode) + "  " + text
    }

    /// `3,851 of 12,404 outputs  2 damaged  94 files/s  2 min left`
    private func facts(_ tally: OutputCheck.Tally, _ passed: Duration) -> String {
        var facts = ["\(Figures.grouped(tally.done)) of \(Figures.count(tally.total, "output"))"]
        if tally.damaged > 0 { facts.append("\(Figures.grouped(tally.damaged)) damaged") }
        if tally.done > 0, passed >= .seconds(1) {
            let rate = Double(tally.done) / passed.seconds
            facts.append("\(Figures.decimals(rate, rate < 10 ? 1 : 0)) files/s")
            facts.append("\(TimeWords.span(seconds: Double(max(0, tally.total - tally.done)) / rate)) left")
        }
        return facts.joined(separator: "  ")
    }

    // MARK: - For programs

    private func plain(_ tally: OutputCheck.Tally, _ state: String) -> String {
        "done=\(tally.done)\ntotal=\(tally.total)\ndamaged=\(tally.damaged)\nprogress=\(state)\n"
    }

    private struct Event: Encodable {
        let state: String
        let done: Int
        let total: Int
        let damaged: Int
    }

    private func json(_ tally: OutputCheck.Tally, _ state: String) -> String {
        let event = Event(state: state, done: tally.done, total: tally.total, damaged: tally.damaged)
        // The event holds only numbers and a word, which can always be encoded.
        return (try? JSONText.line(event)).map { $0 + "\n" } ?? ""
    }
}
