import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// The rows of the list under their headings, with the cursor's row marked.
struct WatchRows {
    let state: WatchState
    let columns: Int
    let style: ScreenStyle

    private static let mark = 2

    /// The heading and at most `count` rows, around the cursor.
    func lines(atMost count: Int) -> [String] {
        guard !state.rows.isEmpty else {
            return ["", "  " + style.paint(state.isAwaitingRows ? "..." : nothing, .faint)]
        }
        let first = max(0, min(state.place - count / 2, state.rows.count - count))
        let shown = Array(state.rows[first..<min(state.rows.count, first + count)])
        let width = max(1, columns - Self.mark)
        let table = table(of: shown)
        let painted = table.lines(width: width, unicode: style.unicode, paint: style.paint)
        let plain = table.lines(width: width, unicode: style.unicode)
        var lines = ["  " + painted[0]]
        for place in shown.indices {
            if first + place == state.place {
                let text = (style.unicode ? "▸ " : "> ") + plain[place + 1]
                lines.append(style.paint(text.padded(to: columns), .chosen))
            } else {
                lines.append("  " + painted[place + 1])
            }
        }
        lines[0] = withPosition(lines[0], first: first, count: shown.count)
        return lines
    }

    /// Adds the position in the list at the end of the heading, if not all rows are visible.
    private func withPosition(_ head: String, first: Int, count: Int) -> String {
        guard first > 0 || count < state.rows.count || state.hasEarlierPage || state.hasLaterPage else { return head }
        let begin = state.earlierRows + first + 1
        let words =
            "\(Figures.grouped(begin)) to \(Figures.grouped(begin + count - 1))" + (state.hasLaterPage ? " ..." : "")
        let space = columns - head.shownWidth
        guard space >= words.count + 2 else { return head }
        return head + String(repeating: " ", count: space - words.count) + style.paint(words, .faint)
    }

    private var nothing: String {
        if !state.filter.isEmpty { return "nothing matches \(state.filter.words.printable); Esc clears the filter" }
        return switch state.list {
        case .running: "no running jobs"
        case .waiting: "no waiting jobs"
        case .failed: "no failed jobs"
        case .ended: "no ended jobs yet"
        case .queues: "no queues; \"sluice submit\" creates one"
        case .workers: "no workers are running; start one with \"sluice worker\""
        }
    }

    // MARK: - Tables

    private func table(of rows: [WatchRow]) -> TextTable {
        let jobs = rows.compactMap { row in if case .job(let job) = row { job } else { nil } }
        switch state.list {
        case .running: return running(jobs)
        case .waiting: return JobTable(jobs: jobs, now: state.now, showsState: true).table
        case .failed: return JobTable(jobs: jobs, now: state.now, showsState: false).table
        case .ended: return JobTable(jobs: jobs, now: state.now, showsState: true, isPage: true).table
        case .queues:
            return QueuesCommand.table(
                rows.compactMap { row in if case .queue(let queue) = row { queue } else { nil } }
            )
        case .workers:
            return WorkersCommand.table(
                rows.compactMap { row in if case .worker(let worker) = row { worker } else { nil } },
                state.now
            )
        }
    }

    private func running(_ jobs: [JobSummary]) -> TextTable {
        let barWidth = columns >= 120 ? 24 : columns >= 76 ? 12 : columns >= 56 ? 6 : 0
        let severalQueues = Set(jobs.map(\.queue)).count > 1
        var table = TextTable(
            [
                .init(title: "ID", isNumber: true), .init(title: "SOURCE", isElastic: true, keepsEnd: true),
                .init(title: "DONE"),
                .init(title: "SPEED", isNumber: true), .init(title: "LEFT", isNumber: true),
                .init(title: "SLOT", mayGo: true),
            ] + (severalQueues ? [.init(title: "QUEUE", mayGo: true)] : [])
        )
        let advances = advances()
        for job in jobs {
            let advance = advances[job.job] ?? JobAdvance(job, nil, of: nil, at: state.now)
            let speed: String = advance.speed.map { Figures.speed($0) } ?? "-"
            let left: String = advance.remaining.map { Figures.clock(seconds: $0.rounded(.up)) } ?? "-"
            var cells: [TextTable.Cell] = [
                .init("\(job.job)"), .init(job.source), done(job, advance, barWidth), .init(speed), .init(left),
                .init(job.place ?? ""),
            ]
            if severalQueues { cells.append(.init(job.queue)) }
            table.add(cells)
        }
        return table
    }

    /// The progress of each job, with the speed that its worker reports.
    private func advances() -> [Int64: JobAdvance] {
        var speeds: [Int64: (JobSpeed, WorkerSummary)] = [:]
        for worker in state.facts.workers {
            for speed in worker.status.paces ?? [] { speeds[speed.job] = (speed, worker) }
        }
        var advances: [Int64: JobAdvance] = [:]
        for case .job(let job) in state.rows {
            let told = speeds[job.job]
            advances[job.job] = JobAdvance(job, told?.0, of: told?.1, at: state.now)
        }
        return advances
    }

    private func done(_ job: JobSummary, _ advance: JobAdvance, _ barWidth: Int) -> TextTable.Cell {
        if job.isToBeCancelled { return .init("stopping", .careful) }
        if job.state == .publishing { return .init("publishing", .good) }
        guard let share = advance.share else {
            // The job has just begun, and its worker has not reported progress yet.
            return .init("since \(TimeWords.span(seconds: state.now.timeIntervalSince(job.since)))", .faint)
        }
        let percent = "\(Int(share * 100))%"
        guard barWidth > 0 else { return .init(percent.aligned(to: 4)) }
        return .init("\(Bar.text(share, columns: barWidth, unicode: style.unicode)) \(percent.aligned(to: 4))")
    }
}

/// The progress, the speed and the remaining time of a running job.
///
/// Workers report every few seconds. In between, the progress is extrapolated at the speed that the worker
/// measured, but not beyond the worker's lease.
struct JobAdvance: Sendable, Hashable {
    /// From 0 to 1.
    var share: Double?
    /// Seconds of sound per second.
    var speed: Double?
    var remaining: Double?

    init(_ job: JobSummary, _ measured: JobSpeed?, of worker: WorkerSummary?, at now: Date) {
        (share, speed) = (job.share, measured?.speed)
        guard job.state == .running, let worker, let whole = measured?.remaining, whole > 0 else { return }
        let age = max(0, min(now, worker.leaseUntil).timeIntervalSince(worker.beatAt))
        remaining = max(0, whole - age)
        // Never show the job as done before its worker reports it.
        if let told = job.share { share = max(told, min(0.99, told + (1 - told) * age / whole)) }
    }
}
