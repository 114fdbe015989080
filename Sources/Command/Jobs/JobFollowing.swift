import API
import Console
import FoundationEssentials
import Ledger
import LedgerClient

/// `sluice jobs --follow`: prints each job once, when it ends, earliest first.
struct JobFollowing: Sendable {
    private let invocation: Invocation
    private let listing: JobListing
    /// In seconds: how late a transaction may become visible after one with a later date.
    private static let overlap = 10.0

    init(_ invocation: Invocation, _ console: CommandOutput) {
        self.invocation = invocation
        listing = JobListing(invocation, console)
    }

    func run() throws -> ExitCode {
        try LedgerWork.run(invocation) { ledger -> ExitCode in
            let begun = try await ledger.time()
            let batch = try await JobFilterOptions.batch(invocation, on: ledger)
            var filter = try JobFilterOptions.filter(invocation, batch: batch, now: begun)
            filter.states = (filter.states ?? JobState.allCases).filter(\.isEnd)
            if filter.states?.isEmpty == true {
                throw UsageError(
                    "--follow prints jobs as they end",
                    hint: "use --state completed, skipped, failed, accepted or cancelled"
                )
            }
            let from = filter.endedFrom ?? begun
            var (seen, isFirst): (Set<End>, Bool) = ([], true)
            var edge = from
            var endurance = Endurance(console: listing.console)
            let rhythm = LookRhythm(ledger, batch: filter.batch)
            defer { rhythm.stop() }
            while true {
                let start = ContinuousClock.now
                filter.endedFrom = max(from, edge.addingTimeInterval(-Self.overlap))
                guard let look = try await endurance.look({ [filter] in try await look(filter, ledger) }) else {
                    // The ledger is unreachable; the next look shows whether it is back.
                    try await Task.sleep(for: LookPause.length(after: .now - start))
                    continue
                }
                let new = look.ended.filter { !seen.contains(End($0)) }.sorted {
                    ($0.since, $0.job) < ($1.since, $1.job)
                }
                if !new.isEmpty {
                    try listing.show(new, now: look.time, isFirst: isFirst)
                    isFirst = false
                }
                seen = Set(look.ended.map(End.init))
                edge = max(edge, look.ended.map(\.since).max() ?? edge)
                if look.isOver { return .success }
                try await rhythm.wait(after: .now - start)
            }
        }
    }

    /// The result of one look at the ledger.
    private struct Look: Sendable {
        let isOver: Bool
        let time: Date
        let ended: [JobSummary]
    }

    private func look(_ filter: JobFilter, _ ledger: any CommandLedger) async throws -> Look {
        // Ask before reading the jobs, so that this look also finds those that end in between.
        let isOver = try await isOver(filter.batch, ledger)
        return Look(isOver: isOver, time: try await ledger.time(), ended: try await all(filter, ledger))
    }

    /// One end of a job. A retried job ends again.
    private struct End: Hashable {
        let job: Int64
        let time: Date

        init(_ job: JobSummary) { (self.job, time) = (job.job, job.since) }
    }

    private func all(_ filter: JobFilter, _ ledger: any CommandLedger) async throws -> [JobSummary] {
        var (jobs, cursor): ([JobSummary], JobCursor?) = ([], nil)
        repeat {
            let page = try await ledger.jobs(matching: filter, after: cursor, limit: 1_000)
            jobs += page.jobs
            cursor = page.next
        } while cursor != nil
        return jobs
    }

    /// Whether no more jobs can end: true only for a batch that is done.
    private func isOver(_ batch: Int64?, _ ledger: any CommandLedger) async throws -> Bool {
        guard let batch else { return false }
        return try await ledger.batch(batch)?.jobs.open ?? 0 == 0
    }
}
