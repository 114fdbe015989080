import Console
import Conversion
import Coordinator
import Worker

/// What a service does, in one line for the service manager: `8 of 8 slots, 41 jobs/min`.
struct ServiceStatus: Sendable {
    var load: WorkerLoad?
    /// Completed attempts of the last minute, by seconds since `start`.
    private var completed: [(second: Int64, count: Int)] = []
    private let start = ContinuousClock.now
    private var isLedgerAway = false
    private var pausedBecause: String?
    private var stopping: Int?

    init(slots: Int? = nil) { load = slots.map { WorkerLoad(busySlots: 0, slots: $0) } }

    mutating func note(_ event: WorkerEvent, at now: ContinuousClock.Instant) {
        switch event {
        case .attempt(let line) where line.outcome == .completed:
            let second = (now - start).components.seconds
            if completed.last?.second == second {
                completed[completed.count - 1].count += 1
            } else {
                completed.append((second, 1))
            }
            forget(before: second - 60)
        case .paused(let reason, _): pausedBecause = reason
        case .resumed: pausedBecause = nil
        case .ledgerAway, .leaseOverdue: isLedgerAway = true
        case .ledgerBack, .leaseRevived, .registeredAgain: isLedgerAway = false
        case .draining(let running, _): stopping = running
        default: break
        }
    }

    mutating func note(_ event: CoordinatorEvent) {
        switch event {
        case .ledgerAway: isLedgerAway = true
        case .ledgerBack: isLedgerAway = false
        default: break
        }
    }

    private mutating func forget(before second: Int64) { completed.removeAll { $0.second <= second } }

    /// The line at `now`.
    mutating func line(at now: ContinuousClock.Instant) -> String {
        forget(before: (now - start).components.seconds - 60)
        var parts: [String] = []
        if let stopping { parts.append("stopping: \(Figures.count(stopping, "job")) to finish") }
        if isLedgerAway { parts.append("the ledger is unreachable") }
        if let pausedBecause { parts.append("paused: \(pausedBecause.bounded)") }
        guard let load else { return (parts.isEmpty ? ["running housekeeping"] : parts).joined(separator: "; ") }
        let pace = completed.reduce(0) { $0 + $1.count }
        parts.append("\(load.busySlots) of \(Figures.count(load.slots, "slot")), \(pace) jobs/min")
        return parts.joined(separator: "; ")
    }
}
