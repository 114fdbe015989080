public import Conversion
public import FoundationEssentials

/// A job in a line.
public struct JobSummary: Sendable, Hashable {
    public var job: Int64
    public var state: JobState
    public var batch: Int64
    public var queue: String
    public var priority: Int
    /// Where its first source is.
    public var source: String
    /// When it came to where it is.
    public var since: Date
    /// Attempts that count, the one under way included.
    public var attempts: Int
    public var maxAttempts: Int
    /// How often it was lost with its worker or what it ran on.
    public var losses: Int
    public var roomDeaths: Int
    /// Of the failure that ended it, or that it waits to try again after.
    public var code: String?
    public var kind: Failure.Kind?
    public var stage: String?
    /// When a delayed job's time comes.
    public var readyAt: Date?
    /// The worker that has it, or had it last.
    public var worker: String?
    public var slot: Int?
    public var frames: Int64?
    public var totalFrames: Int64?
    /// Whether a running job was asked to stop.
    public var isToBeCancelled: Bool
    /// SHA-256 of the output in hexadecimal, and its length; `nil` for a job that was skipped.
    public var digest: String?
    public var bytes: Int64?
    /// Of a job that was completed or skipped.
    public var placement: Placement?

    /// The columns that `list_jobs` and `show_jobs` share.
    init(_ row: Row) throws {
        job = try row["job"]
        state = try row.value("state")
        batch = try row["batch"]
        queue = try row["queue"]
        priority = try row["priority"]
        source = try row["source"]
        since = try row["at"]
        attempts = try row["attempts"]
        maxAttempts = try row["max_attempts"]
        losses = try row["lost"]
        roomDeaths = try row["room_deaths"]
        code = try row["code"]
        kind = try row.kind("class")
        stage = try row["stage"]
        readyAt = try row["ready_at"]
        worker = try row["worker"]
        slot = try row["slot"]
        frames = try row["frames"]
        totalFrames = try row["frames_total"]
        isToBeCancelled = try row["cancel_asked"] ?? false
        digest = try row["digest"]
        bytes = try row["size"]
        placement = try row["placement"] as String? == nil ? nil : try row.value("placement")
    }
}

extension Row {
    /// A failure's class, `nil` for NULL.
    func kind(_ name: String) throws -> Failure.Kind? {
        guard try (self[name] as String?) != nil else { return nil }
        return try value(name)
    }
}
