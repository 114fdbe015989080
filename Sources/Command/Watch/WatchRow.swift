import API
import Ledger

/// A row of the list.
enum WatchRow: Sendable {
    case job(JobSummary)
    case queue(QueueSummary)
    case worker(WorkerSummary)

    enum ID: Sendable, Hashable {
        case job(Int64)
        case queue(String)
        case worker(Int64)
    }

    var id: ID {
        switch self {
        case .job(let job): .job(job.job)
        case .queue(let queue): .queue(queue.name)
        case .worker(let worker): .worker(worker.worker)
        }
    }

    /// The rows of a list, in display order.
    static func rows(of list: WatchList, in facts: WatchFacts, _ filter: WatchFilter) -> [WatchRow] {
        switch list {
        case .running:
            // Sorted by slot: a new job takes the line of the one that ended, and the other lines stay.
            (facts.page?.jobs ?? []).filter { filter.allows($0.source) }
                .sorted { ($0.worker ?? "~", $0.slot ?? .max, $0.job) < ($1.worker ?? "~", $1.slot ?? .max, $1.job) }
                .map { .job($0) }
        case .waiting, .failed, .ended: (facts.page?.jobs ?? []).map { .job($0) }
        case .queues: facts.queues.filter { filter.allows($0.name) }.map { .queue($0) }
        case .workers: facts.workers.filter { filter.allows($0.name) }.map { .worker($0) }
        }
    }
}
