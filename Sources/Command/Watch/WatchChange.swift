import API
import Console
import Conversion
import Ledger
import LedgerClient

/// A change that the user is about to make.
enum WatchChange: Sendable, Hashable {
    /// A change to jobs, and a description of which ones.
    case jobs(JobChange, JobFilter, which: String)
    case pause(Bool, queue: String)
    case wish(WorkerWish, worker: Int64, name: String)

    /// The question to ask, once the number of affected jobs is known.
    func question(about count: Int) -> String {
        let jobs = Figures.count(count, "job")
        return switch self {
        case .jobs(let change, _, let which): "\(change.sentence(count)) (\(which))?"
        case .pause(true, let queue): "pause queue \(queue)? \(jobs) in it would wait; running jobs continue"
        case .pause(false, let queue): "resume queue \(queue)? it has \(Figures.count(count, "waiting job"))"
        case .wish(.run, _, let name): "let worker \(name) claim again? it has \(jobs)"
        case .wish(_, _, let name): "stop worker \(name) from claiming? it finishes its \(jobs)"
        }
    }

    /// The message if there is nothing to change.
    var nothing: String {
        switch self {
        case .jobs(.cancel, _, let which): "nothing to cancel (\(which))"
        case .jobs(.retry, _, let which), .jobs(.retryWithDamage, _, let which): "nothing to retry (\(which))"
        case .jobs(.prioritize, _, let which): "no waiting jobs (\(which))"
        case .jobs(.accept, _, let which): "nothing to accept (\(which))"
        case .pause, .wish: "nothing to change"
        }
    }

    /// The message while the change is under way; `done` is the one after it.
    var underWay: String {
        switch self {
        case .jobs(.cancel, _, _): "cancelling"
        case .jobs(.retry, _, _), .jobs(.retryWithDamage, _, _): "putting back into the queue"
        case .jobs(.prioritize, _, _): "moving"
        case .jobs(.accept, _, _): "accepting"
        case .pause(true, let queue): "pausing \(queue)"
        case .pause(false, let queue): "resuming \(queue)"
        case .wish(_, _, let name): "sending the request to \(name)"
        }
    }

    func done(_ tally: ChangeTally?) -> String {
        switch self {
        case .jobs(let change, _, _): tally.map { change.words($0) } ?? "nothing was done"
        case .pause(true, let queue): "queue \(queue) is paused"
        case .pause(false, let queue): "queue \(queue) is resumed"
        case .wish(.run, _, let name): "\(name) will claim jobs again after its next heartbeat"
        case .wish(_, _, let name): "\(name) will stop claiming jobs at its next heartbeat"
        }
    }

    /// How many jobs the change would affect, by the ledger; `nil` if the ledger does not count for this change.
    func count(in ledger: any CommandLedger) async throws -> Int? {
        guard case .jobs(let change, let filter, _) = self else { return nil }
        return try await ledger.prospect(of: change, matching: filter).jobs
    }

    /// Makes the change. Calls `report` after each chunk of jobs.
    func carryOut(in ledger: any CommandLedger, _ report: @escaping @Sendable (ChangeTally) -> Void) async throws
        -> ChangeTally?
    {
        switch self {
        case .jobs(let change, let filter, _):
            return try await ledger.apply(change, to: filter, report: report)
        case .pause(let isPaused, let queue):
            try await ledger.setPaused(isPaused, queue: queue)
        case .wish(let wish, let worker, let name):
            guard try await ledger.wish(wish, of: worker) else { throw Refusal.missing("worker \(name) any more") }
        }
        return nil
    }
}
