import Conversion
package import FoundationEssentials
package import Ledger

/// What a worker is doing, in the terms of `status`, `workers` and `watch`.
package enum WorkerState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It claims jobs.
    case works
    /// It leaves the jobs of some roots to others, or defers those on a full or missing file system or in a root to which
    /// it may not write.
    case partly
    /// It has paused itself.
    case paused
    /// An operator told it to claim nothing (`quiet`), or to stop (`draining`).
    case quiet, draining
    /// Its lease is over, but the ledger has not declared it lost yet.
    case unheard
    /// It has ended.
    case stopped, lost

    /// Whether it counts as alive: its lease has not run out.
    package var isAlive: Bool {
        switch self {
        case .works, .partly, .paused, .quiet, .draining: true
        case .unheard, .stopped, .lost: false
        }
    }
}

extension WorkerSummary {
    package func state(at now: Date) -> WorkerState {
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
                || status.missingFileSystems?.isEmpty == false || status.unwritableRoots?.isEmpty == false
            return status.pausedBecause != nil && status.pausedRoots == nil ? .paused : isPartly ? .partly : .works
        }
    }

    /// Slots that are converting, from the worker's last report; before the first, the number of jobs it holds. None of a
    /// worker that has ended.
    package var busy: Int { endedAt == nil ? min(slots, status.busySlots ?? holds) : 0 }

    /// When it last gave a sign of life: its last heartbeat, or when it signed off.
    package var seenAt: Date { ending == .stopped ? endedAt ?? beatAt : beatAt }
}

/// The number of workers in each state, and the capacity of those that are alive.
package struct WorkerCensus: Sendable, Hashable {
    package private(set) var counts: [WorkerState: Int] = [:]
    package private(set) var alive = 0
    /// Of living workers only.
    package private(set) var slots = 0
    package private(set) var busySlots = 0
    /// Jobs that workers have claimed ahead, and that no room converts yet; `nil` if that is not known.
    package private(set) var claimed: Int?

    package init(_ workers: [WorkerSummary], at now: Date) {
        claimed = workers.reduce(0) { claimed, worker in
            worker.begun.flatMap { begun in claimed.map { $0 + worker.holds - begun } }
        }
        for worker in workers {
            let state = worker.state(at: now)
            counts[state, default: 0] += 1
            guard state.isAlive else { continue }
            alive += 1
            slots += worker.slots
            busySlots += worker.busy
        }
    }

    /// What the ledger's summary tells those who do not see the workers.
    package init(_ status: LedgerStatus) {
        (alive, slots) = (status.workers, status.slots)
        counts = [.works: status.workers - status.quietWorkers, .quiet: status.quietWorkers].filter { $0.value > 0 }
    }

    package func count(_ state: WorkerState) -> Int { counts[state] ?? 0 }

    /// Workers that an operator told to claim nothing more.
    package var quiet: Int { count(.quiet) + count(.draining) }

    /// `3 alive (24 slots, 9 busy), 1 of them draining, 1 partly; 1 more unheard`
    package var words: String {
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

    /// The counts by the states' names, without zeros.
    package var byName: [String: Int] { Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) }) }
}
