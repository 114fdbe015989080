import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice jobs --watch`: the list on a terminal, redrawn until Ctrl-C.
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
            let rhythm = LookRhythm(ledger, batch: batch)
            defer { rhythm.stop() }
            while true {
                let start = ContinuousClock.now
                let look = try await look(ledger, batch)
                let seenAt = ContinuousClock.now
                try draw(look, at: look.time)
                try await rhythm.wait(after: .now - start) {
                    try draw(look, at: look.time.addingTimeInterval((.now - seenAt) / .seconds(1)))
                }
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

    /// The result of one look at the ledger.
    private struct Look: Sendable {
        let time: Date
        let jobs: [JobSummary]
        let count: Int
    }

    private func look(_ ledger: any CommandLedger, _ batch: Int64?) async throws -> Look {
        let now = try await ledger.time()
        let filter = try JobFilterOptions.filter(invocation, batch: batch, now: now)
        let limit = min(Int32(invocation[JobsCommand.limit]), Int32(max(1, console.data.height - 3)))
        let page = try await ledger.jobs(matching: filter, after: nil, limit: limit)
        return Look(time: now, jobs: page.jobs, count: try await ledger.count(matching: filter))
    }

    /// `now`: the ledger's time.
    private func draw(_ look: Look, at now: Date) throws {
        let rows = console.data.height
        let states = invocation.all(JobFilterOptions.state).flatMap { $0 }
        var table = JobTable(jobs: look.jobs, now: now, showsState: states.count != 1)
        table.showsRemarks = invocation[JobFilterOptions.remarks]
        table.places = places
        let head = "\(Figures.count(look.count, "job"))   \(TimeWords.clock(now, at: now))   Ctrl-C leaves"
        let lines =
            [head.shortened(to: console.data.width, unicode: console.data.usesUnicode), ""]
            + (look.jobs.isEmpty ? ["no job matches"] : table.lines(for: console.data))
        // Overwrite line by line instead of clearing the screen, which would flicker.
        let body = lines.prefix(max(1, rows - 1)).map { "\($0)\u{1B}[K" }.joined(separator: "\r\n")
        try console.data.write("\u{1B}[H" + body + "\u{1B}[J")
    }
}
