public import Conversion

/// A failure that the ledger itself records for an attempt that its worker did not end.
public enum LedgerVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// The worker sent no heartbeat for a whole lease, or has ended.
    case workerLost = "worker_lost"
    /// The attempt produced no frame for too long, although its worker sent heartbeats.
    case stalled
    /// The attempt exceeded the time limit of its recipe, and the worker did not notice.
    case deadlineExceeded = "deadline_exceeded"
    /// Too many pump rooms died because of the job, so it is not retried.
    case roomCrash = "room_crash"

    /// Too many workers were lost while they ran the job, so it is not retried.
    case workersLost = "workers_lost"

    /// The class of the failure, which decides about retries.
    public var kind: Failure.Kind {
        switch self {
        case .workerLost: .infrastructure
        case .stalled, .deadlineExceeded: .transient
        case .roomCrash, .workersLost: .permanent
        }
    }
}
