public import FoundationEssentials

/// A summary of a ledger.
public struct LedgerStatus: Sendable, Hashable {
    public var jobs: JobCounts
    /// Since when the oldest waiting job waits.
    public var oldestWaiting: Date?
    /// Running workers, those of them that claim nothing, and the slots of all.
    public var workers: Int
    public var quietWorkers: Int
    public var slots: Int
    /// Figures for the last hour, or for the part of it that had work: `paceSpan`.
    public var completedLately: Int
    public var audioLately: Duration
    public var paceSpan: Duration?
    /// When housekeeping last ticked; `nil` if it never did.
    public var keptHouseAt: Date?
    /// After an outage, the time before which no worker is declared lost.
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
public struct MinuteThroughput: Sendable, Hashable {
    public var minute: Date
    public var queue: String
    public var completed: Int
    public var failed: Int
    public var cancelled: Int
    public var audio: Duration
    /// When the earliest of their attempts started.
    public var began: Date
}

extension MinuteThroughput {
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
