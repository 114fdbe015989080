public import FoundationEssentials

/// A batch and the jobs in it.
public struct BatchSummary: Sendable, Hashable {
    public var batch: Int64
    public var name: String?
    /// The key that the submitter chose; `nil` if it chose none.
    public var key: String?
    public var queue: String
    public var priority: Int
    public var weight: Int
    public var labels: [String: String]
    public var submitter: String
    public var createdAt: Date
    public var firstJob: Int64
    public var lastJob: Int64
    public var jobs: JobCounts
    /// How many of the completed jobs have remarks.
    public var jobsWithRemarks: Int

    init(_ row: Row) throws {
        batch = try row["batch"]
        name = try row["name"]
        key = SubmissionCall.givenKey(try row["key"])
        queue = try row["queue"]
        priority = try row["priority"]
        weight = try row["weight"]
        labels = Labels.read(try row["labels"])
        submitter = try row["submitter"]
        createdAt = try row["created_at"]
        firstJob = try row["first_job"]
        lastJob = try row["last_job"]
        jobs = try JobCounts(row)
        jobsWithRemarks = try row["remarked"]
    }
}
