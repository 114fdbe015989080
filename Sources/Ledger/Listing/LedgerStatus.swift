public import FoundationEssentials

/// A ledger in a few numbers.
public struct LedgerStatus: Sendable, Hashable {
    public var jobs: JobCounts
    /// Since when the job waits that waits longest of those at the heads of their lines.
    public var oldestWaiting: Date?
    /// Workers alive, those of them that claim nothing, and the slots of all.
    public var workers: Int
    public var quietWorkers: Int
    public var slots: Int
    /// In the last hour, or as much of it as there was work in: `paceSpan`.
    public var completedLately: Int
    public var audioLately: Duration
    public var paceSpan: Duration?
    /// When housekeeping last ticked; `nil` if it never did.
    public var keptHouseAt: Date?
    /// Until when no worker is declared lost, after an outage.
    public var quietUntil: Date?
    /// The ledger's clock.
    public var time: Date

    init(_ row: Row) throws {
        let keptHouseAt: Date = try row["kept_house_at"]
        let quietUntil: Date = try row["quiet_until"]
        jobs = try JobCounts(row)
        oldestWaiting = try row["oldest_waiting"]
        workers = try row["workers"]
        quietWorkers = try row["workers_quiet"]
        slots = try row["slots"]
        completedLately = try row["completed_last_hour"]
        audioLately = .milliseconds(try row["audio_ms_last_hour"] as Int64)
        paceSpan = try (row["pace_seconds"] as Double?).map { .seconds($0) }
        time = try row["ledger_time"]
        self.keptHouseAt = keptHouseAt == .distantPast ? nil : keptHouseAt
        self.quietUntil = quietUntil > time ? quietUntil : nil
    }
}

/// What ended in one minute in one queue.
public struct MinutePace: Sendable, Hashable {
    public var minute: Date
    public var queue: String
    public var completed: Int
    public var failed: Int
    public var cancelled: Int
    public var audio: Duration
    /// When the first of their attempts began.
    public var began: Date
}

extension MinutePace {
    init(_ row: Row) throws {
        minute = try row["minute"]
        queue = try row["queue"]
        completed = try row["completed"]
        failed = try row["failed"]
        cancelled = try row["cancelled"]
        audio = .milliseconds(try row["audio_ms"] as Int64)
        began = try row["began"]
    }
}
