import FoundationEssentials
import Ledger

/// What is asked of the ledger at one look.
struct WatchQuery: Sendable, Hashable {
    var list = WatchList.running
    var filter = WatchFilter()
    /// Where the page of jobs begins; `nil` at the newest.
    var cursor: JobCursor?
    /// The batch that the head tells of; otherwise the newest that are under way.
    var batch: Int64?

    /// So many jobs are fetched at once. Those that run are put in order here, so that there have to be most of them.
    var limit: Int32 { list == .running ? 500 : 100 }
}

/// What the ledger said at one look.
struct WatchFacts: Sendable {
    let query: WatchQuery
    /// Where the ledger is.
    var place: String
    var status: LedgerStatus
    var queues: [QueueSummary]
    var workers: [WorkerSummary]
    /// Of the last hour.
    var paces: [MinutePace]
    /// Those under way, the newest first.
    var batches: [BatchSummary]
    /// Of the last day, the latest first.
    var failures: [FailureGroup]
    /// Of the list, where it is one of jobs.
    var page: JobPage?

    /// Looks at the ledger. Nothing is counted: sums come folded, and jobs by the page.
    static func look(at ledger: JobLedger, _ query: WatchQuery) async throws -> WatchFacts {
        let status = try await ledger.status()
        let now = status.time
        var facts = WatchFacts(
            query: query,
            place: ledger.configuration.description,
            status: status,
            queues: try await ledger.queues(),
            workers: try await ledger.workers(),
            paces: try await ledger.paces(since: now - RecentPace.memory),
            batches: [],
            failures: try await ledger.failures(since: now.addingTimeInterval(-86_400)),
            page: nil
        )
        if let batch = query.batch {
            facts.batches = [try await ledger.batch(batch)].compactMap { $0 }
        } else {
            facts.batches = try await ledger.batches(limit: 20).filter { $0.jobs.open > 0 }
        }
        facts.failures.sort { ($0.lastAt, $1.code) > ($1.lastAt, $0.code) }
        if query.list.isOfJobs {
            facts.page = try await ledger.jobs(
                matching: query.filter.jobs(in: query.list),
                after: query.cursor,
                limit: query.limit
            )
        }
        return facts
    }

    /// What ended lately, in one queue or in all.
    func pace(of queue: String? = nil) -> RecentPace? {
        RecentPace(paces.filter { queue == nil || $0.queue == queue }, at: status.time)
    }
}
