import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// The overview above the list, and the last failures below it.
struct WatchOverview {
    let state: WatchState
    let size: ScreenSize
    let style: ScreenStyle

    private var facts: WatchFacts { state.facts }
    private var status: LedgerStatus { facts.status }
    private var columns: Int { size.columns }
    /// The maximum number of lines per part.
    private var depth: Int { max(1, min(8, (size.rows - 12) / 6)) }
    private static let margin = 10

    var lines: [String] {
        var lines = [head]
        if let absence { lines.append(absence) }
        guard size.rows >= 10 else { return lines }
        lines += batches
        lines += flow("queues", queues, none: "none yet; \"sluice submit\" creates one")
        lines += flow(
            "workers",
            facts.seesWorkers ? workers : census,
            none: "none are running; start one with \"sluice worker\""
        )
        if size.rows >= 16, let note { lines.append(label("note", .careful) + note) }
        return lines
    }

    private func label(_ word: String, _ ink: Ink = .faint) -> String {
        style.paint(word.padded(to: Self.margin), ink)
    }

    // MARK: - The head

    /// The most useful facts come first; the clock stands at the end if there is space.
    private var head: String {
        let jobs = status.jobs
        let census = facts.seesWorkers ? WorkerCensus(facts.workers, at: state.now) : nil
        let claimed = min(census?.claimed ?? 0, jobs.running)
        var parts: [(String, Ink?)] = [
            ("\(Figures.grouped(jobs.waiting)) waiting", nil),
            ("\(Figures.grouped(jobs.running - claimed + jobs.publishing)) running", nil),
        ]
        if claimed > 0 { parts.append(("\(Figures.grouped(claimed)) claimed", nil)) }
        if let throughput = facts.throughput() {
            parts.append((throughput.words("files"), .strong))
            if throughput.speed > 0 { parts.append((Figures.speed(throughput.speed), .strong)) }
        }
        if jobs.open > 0, let left = RemainingTime(jobs, claimed: claimed, facts.throughput(), conversions) {
            parts.append(("\(TimeWords.span(seconds: left.seconds)) left", nil))
        }
        if jobs.failed > 0 { parts.append(("\(Figures.grouped(jobs.failed)) failed", .bad)) }
        parts.append(("\(Figures.grouped(jobs.completed)) done", .good))
        if jobs.skipped > 0 { parts.append(("\(Figures.grouped(jobs.skipped)) skipped", .faint)) }
        if jobs.accepted > 0 { parts.append(("\(Figures.grouped(jobs.accepted)) accepted", .faint)) }
        if jobs.delayed > 0 { parts.append(("\(Figures.grouped(jobs.delayed)) delayed", .careful)) }
        if jobs.cancelled > 0 { parts.append(("\(Figures.grouped(jobs.cancelled)) cancelled", .faint)) }
        parts.append((facts.place.printable, .faint))
        let clock = TimeWords.clock(state.now, at: state.now)
        var line = style.paint("sluice", .strong)
        var width = 6
        if let context = state.context {
            let name = context.name.shortened(to: max(8, columns / 4), unicode: style.unicode)
            line += " " + style.paint(name, context.ink)
            width += 1 + name.displayWidth
        }
        let start = width
        for (text, ink) in parts where width + 3 + text.displayWidth <= columns - clock.count - 2 {
            line += (width == start ? "    " : "   ") + (ink.map { style.paint(text, $0) } ?? text)
            width += text.displayWidth + (width == start ? 4 : 3)
        }
        guard width + clock.count + 2 <= columns else { return line }
        return line + String(repeating: " ", count: columns - width - clock.count) + style.paint(clock, .faint)
    }

    /// The conversions that workers have measured. Their time passes between heartbeats, up to the end of the worker's lease.
    private var conversions: [RemainingTime.MeasuredConversion] {
        facts.workers.flatMap { worker -> [RemainingTime.MeasuredConversion] in
            let age = max(0, min(state.now, worker.leaseUntil).timeIntervalSince(worker.beatAt))
            return (worker.status.paces ?? []).compactMap { pace -> RemainingTime.MeasuredConversion? in
                guard let told = pace.remaining else { return nil }
                let remaining: Double = max(0, told - age)
                return RemainingTime.MeasuredConversion(speed: pace.speed, told: told, remaining: remaining)
            }
        }
    }

    private var absence: String? {
        guard let absence = state.absence else { return nil }
        let since = TimeWords.clock(absence.since, at: state.now)
        let text = "the ledger has not answered since \(since) (\(absence.code)); the data shown is old"
        return style.paint(text.clipped(to: columns, unicode: style.unicode), .bad)
    }

    /// The first note for an operator that can be derived from one look per second.
    private var note: String? {
        let census = WorkerCensus(facts.workers, at: state.now)
        // The lines of queues say which are paused.
        let facts = StatusFacts(place: facts.place, status: status, workers: census, unable: [], chores: [])
        // The line of workers already says that none are running.
        return facts.notes.first { $0.kind != .noWorkers }?.line.printable
    }

    // MARK: - Batches

    private var batches: [String] {
        let width = columns - Self.margin
        // Batches with running jobs come first: there may be more batches than lines.
        let all = facts.batches.sorted { (Self.rank($0), $1.batch) < (Self.rank($1), $0.batch) }
        let titles = all.prefix(depth).map { batch in
            ("\(batch.batch)" + (batch.name.map { " \($0.printable)" } ?? ""))
                .shortened(to: max(8, min(30, width / 3)), unicode: style.unicode)
        }
        let column = titles.reduce(0) { max($0, $1.displayWidth) }
        return zip(all, titles).enumerated().map { place, batch in
            let jobs = batch.0.jobs
            let percent = "\(Int(jobs.share * 100))%".aligned(to: 4)
            var words = "\(Figures.grouped(jobs.ended)) of \(Figures.grouped(jobs.total))"
            if jobs.failed > 0 { words += "   \(Figures.grouped(jobs.failed)) failed" }
            if place == depth - 1, all.count > depth { words += "   +\(all.count - depth) more" }
            let space = width - column - percent.count - words.displayWidth - 6
            let bar = space >= 6 ? Bar.text(jobs.share, columns: min(space, 30), unicode: style.unicode) + "  " : ""
            let line = "\(batch.1.padded(to: column))  \(style.paint(bar, .good))\(percent)  \(words)"
            return label(place == 0 ? "batches" : "") + line.clipped(to: max(1, width), unicode: style.unicode)
        }
    }

    private static func rank(_ batch: BatchSummary) -> Int { batch.jobs.running + batch.jobs.publishing > 0 ? 0 : 1 }

    // MARK: - Queues and workers

    private var queues: [String] {
        // Queues with open jobs come first: there may be more queues than lines.
        facts.queues.sorted { ($0.jobs.open > 0 ? 0 : 1, $0.name) < ($1.jobs.open > 0 ? 0 : 1, $1.name) }.map { queue in
            var parts: [String] = []
            if queue.isPaused { parts.append(style.paint("paused", .careful)) }
            parts.append("\(Figures.grouped(queue.jobs.waiting)) waiting")
            let running = queue.jobs.running + queue.jobs.publishing
            let limit = queue.runningLimit.map { " of \(Figures.grouped($0))" } ?? ""
            if running > 0 || queue.runningLimit != nil { parts.append("\(Figures.grouped(running))\(limit) running") }
            if queue.jobs.delayed > 0 { parts.append("\(Figures.grouped(queue.jobs.delayed)) delayed") }
            if let throughput = facts.throughput(of: queue.name) { parts.append(throughput.words()) }
            let name = queue.name.printable.shortened(to: max(8, columns / 4), unicode: style.unicode)
            return style.paint(name, .strong) + " " + parts.joined(separator: style.dot)
        }
    }

    private var workers: [String] {
        let troubled = facts.workers.filter { $0.state(at: state.now) != .works }
        let well = facts.workers.filter { $0.state(at: state.now) == .works }
        return (troubled + well).map { worker in
            let busy = worker.busy
            let share = worker.slots > 0 ? Double(busy) / Double(worker.slots) : 0
            let bar = Bar.text(share, columns: min(8, max(1, worker.slots)), unicode: style.unicode)
            let name = worker.name.printable.shortened(to: max(8, columns / 4), unicode: style.unicode)
            let word = worker.stateCell(at: state.now)
            let verdict = word.ink == .good ? "" : " " + (word.ink.map { style.paint(word.text, $0) } ?? word.text)
            return "\(style.paint(name, .strong)) \(style.paint(bar, .good)) \(busy)/\(worker.slots)\(verdict)"
        }
    }

    /// What a tenant learns.
    private var census: [String] { status.workers > 0 ? [WorkerCensus(status).words] : [] }

    /// Cells side by side on up to `depth` lines; the last line says how many are left out.
    private func flow(_ word: String, _ cells: [String], none: String) -> [String] {
        guard !cells.isEmpty else { return [label(word) + style.paint(none, .careful)] }
        let width = max(1, columns - Self.margin)
        var (lines, line, used, shown) = ([String](), "", 0, 0)
        for cell in cells {
            let wide = min(cell.shownWidth, width)
            let left = cells.count - shown - 1
            // The last line needs space for the number of the others.
            let reserve = lines.count == depth - 1 && left > 0 ? " +\(left) more".count + 2 : 0
            if used > 0, used + 4 + wide + reserve > width {
                guard lines.count < depth - 1 else { break }
                lines.append(line)
                (line, used) = ("", 0)
            }
            line +=
                (used > 0 ? "    " : "") + cell.clipped(to: width - (used > 0 ? 0 : reserve), unicode: style.unicode)
            used += wide + (used > 0 ? 4 : 0)
            shown += 1
        }
        if shown < cells.count { line += style.paint("   +\(cells.count - shown) more", .faint) }
        return (lines + [line]).enumerated().map { label($0.offset == 0 ? word : "") + $0.element }
    }

    // MARK: - Failures

    /// The last failures; empty if the screen is too small.
    var failures: [String] {
        let count = min(facts.failures.count, max(1, min(6, (size.rows - 12) / 6)))
        guard size.rows >= 16, count > 0 else { return [] }
        var table = TextTable([
            .init(title: ""), .init(title: ""), .init(title: "", isNumber: true),
            .init(title: "", isElastic: true, keepsEnd: true),
        ])
        for group in facts.failures.prefix(count) {
            let example = ["\(group.example)", group.exampleSource].compactMap { $0 }.joined(separator: " ")
            table.add([
                .init(TimeWords.ago(group.lastAt, at: state.now)), .init(group.code, group.jobs > 0 ? .bad : .faint),
                group.jobs > 0 ? .init(Figures.count(group.jobs, "job")) : .init("retried", .faint), .init(example),
            ])
        }
        let lines = table.lines(width: columns, unicode: style.unicode, headed: false, paint: style.paint)
        return [style.rule("last failures", columns: columns)] + lines
    }
}
