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
    /// Of the last minutes.
    var paces: [MinutePace]
    /// Those under way, the newest first.
    var batches: [BatchSummary]
    /// Of the last day, the latest first.
    var failures: [FailureGroup]
    /// Of the list, where it is one of jobs.
    var page: JobPage?

    static let paceSpan = Duration.seconds(300)

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
            paces: try await ledger.paces(since: now.addingTimeInterval(-paceSpan.seconds)),
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

    // MARK: - Paces

    /// What ended lately, in one queue or in all.
    func pace(of queue: String? = nil) -> RecentPace? {
        let those = paces.filter { queue == nil || $0.queue == queue }
        // Of the last minutes in which anything ended: work that has just begun is not slow.
        guard let first = those.map(\.minute).min() else { return nil }
        let seconds = min(Self.paceSpan.seconds, status.time.timeIntervalSince(first))
        guard seconds >= 1 else { return nil }
        let ended = those.reduce(0) { $0 + $1.completed + $1.failed + $1.cancelled }
        let audio = those.reduce(0.0) { $0 + $1.audio.seconds }
        return RecentPace(perSecond: Double(ended) / seconds, speed: audio / seconds)
    }
}

/// How much ended per second.
struct RecentPace: Sendable, Hashable {
    /// Jobs.
    let perSecond: Double
    /// Seconds of sound.
    let speed: Double

    /// `9.4/s`, `12/min`; with a noun, `9.4 files/s`
    func words(_ noun: String = "") -> String {
        let (rate, unit) = perSecond >= 1 ? (perSecond, "s") : (perSecond * 60, "min")
        return Figures.decimals(rate, rate < 10 ? 1 : 0) + (noun.isEmpty ? "" : " \(noun)") + "/\(unit)"
    }
}
