import Console
import FoundationEssentials
import Ledger

/// `sluice jobs --watch`: the list on a terminal, redrawn twice a second until Ctrl-C.
struct JobWatch: Sendable {
    private let invocation: Invocation
    private let console: CommandOutput
    private let places: LocalPlaces?

    init(_ invocation: Invocation, _ console: CommandOutput) throws {
        guard console.data.isTerminal else {
            throw UsageError("--watch needs a terminal", hint: "--follow prints jobs as they end")
        }
        for other in [ListOptions.json, ListOptions.quiet] where invocation[other] {
            throw UsageError("\(other.form.word) cannot be combined with --watch; use --follow")
        }
        (self.invocation, self.console) = (invocation, console)
        places = LocalPlaces.known(to: invocation)
    }

    func run() throws -> ExitCode {
        // The alternate screen, so that every orderly exit brings the shell's screen back.
        try console.data.write("\u{1B}[?1049h\u{1B}[?25l")
        defer { leave() }
        return try LedgerWork.run(invocation) { ledger in
            let batch = try await JobFilterOptions.batch(invocation, on: ledger)
            while true {
                let start = ContinuousClock.now
                try await draw(ledger, batch)
                // The ledger sends no notification of changes: see `LookPause`.
                try await Task.sleep(for: LookPause.length(after: .now - start))
            }
        }
    }

    private func leave() {
        do throws(Outlet.Failure) {
            try console.data.write("\u{1B}[?25h\u{1B}[?1049l")
        } catch {
            // The terminal is gone, and its screen with it.
        }
    }

    private func draw(_ ledger: any CommandLedger, _ batch: Int64?) async throws {
        let (now, rows) = (try await ledger.time(), console.data.height)
        let filter = try JobFilterOptions.filter(invocation, batch: batch, now: now)
        let limit = min(Int32(invocation[JobsCommand.limit]), Int32(max(1, rows - 3)))
        let page = try await ledger.jobs(matching: filter, after: nil, limit: limit)
        let count = try await ledger.count(matching: filter)
        let states = invocation.all(JobFilterOptions.state).flatMap { $0 }
        var table = JobTable(jobs: page.jobs, now: now, showsState: states.count != 1)
        table.showsRemarks = invocation[JobFilterOptions.remarks]
        table.places = places
        let head = "\(Figures.count(count, "job"))   \(TimeWords.clock(now, at: now))   Ctrl-C leaves"
        let lines =
            [head.shortened(to: console.data.width, unicode: console.data.usesUnicode), ""]
            + (page.jobs.isEmpty ? ["no job matches"] : table.lines(for: console.data))
        // Overwrite line by line instead of clearing the screen, which would flicker.
        let body = lines.prefix(max(1, rows - 1)).map { "\($0)\u{1B}[K" }.joined(separator: "\r\n")
        try console.data.write("\u{1B}[H" + body + "\u{1B}[J")
    }
}
