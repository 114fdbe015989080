import Conversion
import FoundationEssentials
import Ledger
import LedgerClient

/// What to read from the ledger at one look.
struct WatchQuery: Sendable, Hashable {
    var list = WatchList.running
    var filter = WatchFilter()
    /// Where the page of jobs begins; `nil` means at the newest.
    var cursor: JobCursor?
    /// The batch to show at the top; otherwise the newest ones under way.
    var batch: Int64?

    /// The page size. Running jobs are sorted here, so their page should hold most of them.
    var limit: Int32 { list == .running ? 500 : 100 }
}

/// The result of one look at the ledger.
struct WatchFacts: Sendable {
    let query: WatchQuery
    /// The address of the ledger.
    var place: String
    var status: LedgerStatus
    var queues: [QueueSummary]
    var workers: [WorkerSummary]
    /// Tenants learn how many workers there are, but not which, and no throughput of the whole installation.
    var seesWorkers = true
    /// For the last hour.
    var paces: [MinuteThroughput]
    /// The batches under way, newest first.
    var batches: [BatchSummary]
    /// Of the last day, latest first.
    var failures: [FailureGroup]
    /// The jobs of the list; `nil` for a list of queues or workers.
    var page: JobPage?

    /// Reads the ledger. This counts nothing: totals are kept by the ledger, and jobs come by the page.
    static func look(at ledger: any CommandLedger, _ query: WatchQuery) async throws -> WatchFacts {
        let (status, place) = try await ledger.overview()
        let now = status.time
        var facts = WatchFacts(
            query: query,
            place: place,
            status: status,
            queues: try await ledger.queues(),
            workers: [],
            paces: [],
            batches: [],
            failures: try await ledger.failures(
                since: now.addingTimeInterval(-86_400),
                queue: nil,
                batch: nil
            ),
            page: nil
        )
        do {
            facts.workers = try await ledger.workers(endedSince: nil)
            facts.paces = try await ledger.paces(since: now - RecentThroughput.memory)
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            facts.seesWorkers = false
        }
        if let batch = query.batch {
            facts.batches = [try await ledger.batch(batch)].compactMap { $0 }
        } else {
            facts.batches = try await ledger.batches(before: nil, limit: 20).filter { $0.jobs.open > 0 }
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

    /// The recent throughput, in one queue or in all.
    func throughput(of queue: String? = nil) -> RecentThroughput? {
        RecentThroughput(paces.filter { queue == nil || $0.queue == queue }, at: status.time)
    }
}
