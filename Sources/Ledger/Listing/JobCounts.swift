/// How many jobs are in each state.
public struct JobCounts: Sendable, Hashable, Codable {
    public var delayed = 0
    public var waiting = 0
    public var running = 0
    public var publishing = 0
    public var completed = 0
    public var skipped = 0
    public var failed = 0
    public var accepted = 0
    public var cancelled = 0

    public init() {}

    public subscript(_ state: JobState) -> Int {
        get {
            switch state {
            case .delayed: delayed
            case .waiting: waiting
            case .running: running
            case .publishing: publishing
            case .completed: completed
            case .skipped: skipped
            case .failed: failed
            case .accepted: accepted
            case .cancelled: cancelled
            }
        }
        set {
            switch state {
            case .delayed: delayed = newValue
            case .waiting: waiting = newValue
            case .running: running = newValue
            case .publishing: publishing = newValue
            case .completed: completed = newValue
            case .skipped: skipped = newValue
            case .failed: failed = newValue
            case .accepted: accepted = newValue
            case .cancelled: cancelled = newValue
            }
        }
    }

    public var total: Int { JobState.allCases.reduce(0) { $0 + self[$1] } }
    /// The jobs that have not ended.
    public var open: Int { delayed + waiting + running + publishing }

    /// Reads a row with a column for each state.
    init(_ row: Row) throws {
        // In a ledger without queues the sums are NULL.
        for state in JobState.allCases { self[state] = try row[state.rawValue] ?? 0 }
    }
}
