import Conversion
public import FoundationEssentials

extension JobLedger {
    /// A page of jobs, from the newest to the oldest; with a source prefix, by source. `limit` jobs at most.
    public func jobs(
        matching filter: JobFilter = JobFilter(),
        after cursor: JobCursor? = nil,
        limit: Int32 = 50
    ) async throws -> JobPage {
        let json = try JSON(filter)
        return try await settle("list jobs") { connection, _ in
            // One more than asked for tells whether there is another page.
            let more = limit + 1
            let rows = try connection.rows("select * from \(schema).list_jobs(\(json), \(cursor?.json), \(more))") {
                (try JobSummary($0), try $0["next"] as JSON?)
            }
            let page = rows.prefix(Int(limit))
            return JobPage(jobs: page.map(\.0), next: rows.count > page.count ? JobCursor(page.last?.1) : nil)
        }
    }

    /// How many jobs a filter finds. From folded counts where it says nothing but states and a queue; else counted.
    public func count(matching filter: JobFilter = JobFilter()) async throws -> Int {
        let json = try JSON(filter)
        return try await settle("count jobs") { connection, _ in
            try connection.value("select \(schema).count_jobs(\(json))")
        }
    }

    /// Everything about a job; `nil` if there is none of that number.
    public func story(of job: Int64) async throws -> JobStory? {
        try await settle("show a job") { connection, _ in
            try connection.transaction(.readOnly) {
                guard
                    var story = try connection.first(
                        "select * from \(schema).show_job(\(job))",
                        { try JobStory($0) }
                    )
                else { return nil }
                if story.waitingFor == .unable {
                    let lines = try connection.rows("select * from \(schema).list_unable()", UnableLine.init)
                    let line = lines.first { $0.needs == story.needs && $0.queue == story.summary.queue }
                    story.missing = line?.missing ?? []
                }
                story.attempts = try connection.rows(
                    "select * from \(schema).list_attempts(\(job))",
                    AttemptRecord.init
                )
                return story
            }
        }
    }

    /// Failures by code, class and stage, the most first: of everything, of a queue, or of a batch.
    public func failures(since: Date? = nil, queue: String? = nil, batch: Int64? = nil) async throws -> [FailureGroup] {
        try await settle("group failures") { connection, _ in
            try connection.rows(
                "select * from \(schema).list_failures(\(since), \(queue), \(batch))",
                FailureGroup.init
            )
        }
    }
}

extension JobStory {
    /// A row of `show_job`, without the attempts.
    fileprivate init(_ row: Row) throws {
        let why: String? = try row["why"]
        summary = try JobSummary(row)
        recipe = try (row["recipe"] as JSON).text
        batchName = try row["batch_name"]
        submitter = try row["submitter"]
        submittedAt = try row["submitted_at"]
        runAt = try row["run_at"]
        cost = try row["cost"]
        needs = try row["needs"]
        labels = Labels.read(try row["labels"])
        batchLabels = Labels.read(try row["batch_labels"])
        waitingFor = why == nil ? nil : try row.value("why")
        attempts = []
    }
}

/// Labels as the ledger has them.
enum Labels {
    /// Those that are texts. A submitter of plain SQL may have put anything beside them.
    static func read(_ json: JSON?) -> [String: String] {
        struct Text: Decodable {
            var text: String?
            init(from decoder: any Decoder) throws {
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }
        let labels: [String: Text]? = json.flatMap { try? $0.decoded(during: "read labels") }
        return labels?.compactMapValues(\.text) ?? [:]
    }
}
