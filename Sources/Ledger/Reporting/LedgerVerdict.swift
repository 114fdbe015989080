public import Conversion

/// What the ledger itself writes down as the end of an attempt, in place of a worker that did not.
public enum LedgerVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// The worker gave no sign of life for a whole lease, or has ended.
    case workerLost = "worker_lost"
    /// No frame came out for too long, under a worker that gave signs of life.
    case stalled
    /// It took longer than its recipe allows, and the worker did not notice.
    case deadlineExceeded = "deadline_exceeded"
    /// So many pump rooms died of the job that it is tried no more.
    case roomCrash = "room_crash"

    /// So many workers were lost while they ran the job that it is tried no more.
    case workersLost = "workers_lost"

    /// What another try is worth.
    public var kind: Failure.Kind {
        switch self {
        case .workerLost: .infrastructure
        case .stalled, .deadlineExceeded: .transient
        case .roomCrash, .workersLost: .permanent
        }
    }
}
