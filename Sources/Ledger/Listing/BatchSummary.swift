public import FoundationEssentials

/// A batch and the jobs in it.
public struct BatchSummary: Sendable, Hashable {
    public var batch: Int64 = 0
    public var name: String?
    /// The key that the submitter chose; `nil` if it chose none.
    public var key: String?
    public var queue = ""
    public var priority = 0
    public var weight = 0
    public var labels: [String: String] = [:]
    public var submitter = ""
    public var createdAt = Date.distantPast
    public var firstJob: Int64 = 0
    public var lastJob: Int64 = 0
    public var jobs = JobCounts()
    /// How many jobs it had at first. `jobs` leaves out those that retention has deleted since.
    public var jobsSubmitted = 0
    /// How many of the completed jobs have remarks.
    public var jobsWithRemarks = 0
    /// How many sources the submission left out because their outputs were there already, or had been edited.
    public var sourcesSkipped = 0

    package init() {}
}

extension BatchSummary: LedgerRecord, ListedRecord {
    package static let listName = "batches"
    package static var blank: BatchSummary { BatchSummary() }

    package static let fields: [RecordField<BatchSummary>] = [
        .always("id", \.batch, .id, "the batch's number", column: "batch"),
        .maybe("name", \.name, .text, "the name that its submitter chose"),
        .special(
            "key",
            .text,
            "the key that makes its submission repeatable",
            read: { batch, row in batch.key = SubmissionCall.givenKey(try row["key"]) },
            encode: { batch, encoder, key in try encoder.encodeIfPresent(batch.key, forKey: key) },
            decode: { batch, decoder, key in batch.key = try decoder.decodeIfPresent(String.self, forKey: key) }
        ),
        .always("queue", \.queue, .text, "the queue of its jobs"),
        .always("priority", \.priority, .chosen(in: LedgerRules.priorities), "higher goes first"),
        .always("weight", \.weight, .chosen(in: LedgerRules.weights), "its share relative to other batches"),
        .always("labels", \.labels, .labels, "the labels that its submitter chose"),
        .always("submitter", \.submitter, .text, "who submitted it"),
        .always("createdAt", \.createdAt, .moment, "when it was submitted"),
        .always("firstJob", \.firstJob, .id, "the lowest number of its jobs"),
        .always("lastJob", \.lastJob, .id, "the highest number of its jobs"),
        .always("jobs", \.jobs, .counts, "how many jobs are in each state"),
        .always("jobsSubmitted", \.jobsSubmitted, .count, "how many jobs it had at first", column: "jobs"),
        .always("jobsWithRemarks", \.jobsWithRemarks, .count, "completed jobs with warnings", column: "remarked"),
        .always(
            "sourcesSkipped",
            \.sourcesSkipped,
            .count,
            "sources that the submission left out, because their outputs were there or had been edited"
        ),
        .derived("isDone", .truth, isRequired: true, "whether all its jobs have ended") { $0.jobs.open == 0 },
    ]
}
