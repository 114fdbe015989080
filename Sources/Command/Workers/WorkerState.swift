import FoundationEssentials
import Ledger

/// What a worker is doing, as `status`, `workers` and `watch` all say it.
enum WorkerState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It claims jobs.
    case works
    /// It leaves the jobs of some of its roots to others, or puts off those that write to a full file system.
    case partly
    /// It has paused itself.
    case paused
    /// It was asked to claim nothing, or to stop.
    case quiet, draining
    /// Its lease is over, and the ledger has not declared it lost yet.
    case unheard
    /// It has ended.
    case stopped, lost

    /// Whether it counts as alive: the ledger has heard of it within its lease.
    var isAlive: Bool {
        switch self {
        case .works, .partly, .paused, .quiet, .draining: true
        case .unheard, .stopped, .lost: false
        }
    }

    var ink: Ink {
        switch self {
        case .works: .good
        case .partly, .paused, .quiet, .draining: .careful
        case .unheard, .lost: .bad
        case .stopped: .faint
        }
    }
}

extension WorkerSummary {
    func state(at now: Date) -> WorkerState {
        switch ending {
        case .stopped?: return .stopped
        case .lost?: return .lost
        case nil: break
        }
        if leaseUntil <= now { return .unheard }
        switch wish {
        case .quiet: return .quiet
        case .drain: return .draining
        case .run:
            let isPartly =
                status.pausedRoots != nil || status.fullFileSystems?.isEmpty == false
                || status.missingFileSystems?.isEmpty == false
            return status.pausedBecause != nil && status.pausedRoots == nil ? .paused : isPartly ? .partly : .works
        }
    }

    /// Slots that convert, as it last said; until it has said so, as many as it holds jobs.
    var busy: Int { min(slots, status.busySlots ?? holds) }
}

/// How many workers there are of each state, and what those that are alive can do.
struct WorkerCensus: Sendable, Hashable {
    private(set) var counts: [WorkerState: Int] = [:]
    private(set) var alive = 0
    /// Of workers that are alive.
    private(set) var slots = 0
    private(set) var busySlots = 0

    init(_ workers: [WorkerSummary], at now: Date) {
        for worker in workers {
            let state = worker.state(at: now)
            counts[state, default: 0] += 1
            guard state.isAlive else { continue }
            alive += 1
            slots += worker.slots
            busySlots += worker.busy
        }
    }

    func count(_ state: WorkerState) -> Int { counts[state] ?? 0 }

    /// Those that were asked to claim nothing more.
    var quiet: Int { count(.quiet) + count(.draining) }

    /// `3 alive (24 slots, 9 busy), 1 of them draining, 1 partly; 1 more unheard`
    var words: String {
        let busy = busySlots > 0 ? ", \(Figures.grouped(busySlots)) busy" : ""
        var words = "\(Figures.grouped(alive)) alive (\(Figures.count(slots, "slot"))\(busy))"
        let others = WorkerState.allCases.filter { $0.isAlive && $0 != .works && count($0) > 0 }
        for (place, state) in others.enumerated() {
            words += ", \(Figures.grouped(count(state))) \(place == 0 ? "of them " : "")\(state.rawValue)"
        }
        if count(.unheard) > 0 {
            words += "; \(Figures.grouped(count(.unheard))) \(alive > 0 ? "more " : "")unheard"
        }
        return words
    }

    /// By the states' names, those with any.
    var byName: [String: Int] { Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) }) }
}
