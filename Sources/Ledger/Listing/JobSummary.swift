public import Conversion
public import FoundationEssentials

/// A job in one line.
public struct JobSummary: Sendable, Hashable {
    public var job: Int64
    public var state: JobState
    public var batch: Int64
    public var queue: String
    public var priority: Int
    /// The location of its first source.
    public var source: String
    /// When it entered its state.
    public var since: Date
    /// Attempts that count, including the one under way.
    public var attempts: Int
    public var maxAttempts: Int
    /// How often it was lost with its worker, or because of the machine it ran on.
    public var losses: Int
    public var roomDeaths: Int
    /// The code of the failure that ended it, or after which it waits for another try.
    public var code: String?
    public var kind: Failure.Kind?
    public var stage: String?
    /// When a delayed job becomes ready. In a story also when a job may start whose tenant has used up its day.
    public var readyAt: Date?
    /// The worker that holds it, or held it last.
    public var worker: String?
    public var slot: Int?
    public var frames: Int64?
    public var totalFrames: Int64?
    /// Whether a cancellation of the running job was requested.
    public var isToBeCancelled: Bool
    /// SHA-256 of the first output in hexadecimal, and its length; `nil` if it was left alone.
    public var digest: String?
    public var bytes: Int64?
    /// The outputs after the first, in the order of the recipe; `nil` for one that was left alone.
    public var further: [PublishedFile?]
    /// Set for a job that was completed or skipped.
    public var placement: Placement?
    /// Whether it was completed with remarks.
    public var hasRemarks: Bool
    /// The remarks, in a list of jobs with remarks; otherwise `nil`.
    public var remarks: JobRemarks?

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
        further = try [PublishedFile?](further: row)
        placement = try row["placement"] as String? == nil ? nil : try row.value("placement")
        hasRemarks = try row["has_remarks"] ?? false
    }
}

extension JobSummary {
    /// A row of `list_jobs`.
    init(listed row: Row) throws {
        try self.init(row)
        remarks = JobRemarks(try row["remarks"])
    }
}

extension Row {
    /// A failure's class, `nil` for NULL.
    func kind(_ name: String) throws -> Failure.Kind? {
        guard try (self[name] as String?) != nil else { return nil }
        return try value(name)
    }
}
