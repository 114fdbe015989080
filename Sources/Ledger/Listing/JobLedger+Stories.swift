import Conversion
import FoundationEssentials

extension JobLedger {
    /// Everything about a job; `nil` if there is none of that number.
    public func story(of job: Int64) async throws -> JobStory? { try await stories(of: [job]).first }

    /// Everything about each of some jobs, in the order of their numbers; those that are not there are left out.
    ///
    /// A few hundred at a time: all of it is held in memory.
    public func stories(of jobs: [Int64]) async throws -> [JobStory] {
        try await settle("show jobs") { connection, _ in
            // Each question by itself: a transaction would hold `finished` while it waits for `attempt`, against the order of locks.
            var stories: [Int64: JobStory] = [:]
            try connection.forEachRow("select * from \(schema).show_jobs(\(jobs))") { row in
                let story = try JobStory(row)
                stories[story.summary.job] = story
            }
            try connection.forEachRow("select * from \(schema).list_attempts(\(jobs))") { row in
                stories[try row["job"]]?.attempts.append(try AttemptRecord(row))
            }
            try connection.forEachRow("select * from \(schema).list_amendments(\(jobs))") { row in
                stories[try row["job"]]?.amendments.append(try RecipeAmendment(row))
            }
            let unable = stories.filter { $0.value.waitingFor == .unable }.keys
            if !unable.isEmpty {
                let lines = try connection.rows("select * from \(schema).list_unable()", UnableLine.init)
                for job in unable { stories[job]?.learnWhatIsMissing(from: lines) }
            }
            return stories.values.sorted { $0.summary.job < $1.summary.job }
        }
    }
}

extension JobStory {
    /// What no living worker has of what the job needs.
    fileprivate mutating func learnWhatIsMissing(from lines: [UnableLine]) {
        missing = lines.first { $0.needs == needs && $0.queue == summary.queue }?.missing ?? []
    }

    /// A row of `show_jobs`, without the attempts and amendments.
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
        (attempts, amendments) = ([], [])
    }
}

/// Labels as the ledger has them.
enum Labels {
    /// Those that are texts. A submitter of plain SQL may have put anything beside them.
    static func read(_ json: JSON?) -> [String: String] {
        struct Text: Decodable {
            var text: String?
            init(from decoder: any Decoder) throws {
                // What is no text is no label.
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }
        // Nested a thousand deep, they are beyond every decoder. A claim of a hundred jobs must not fail of the labels of one.
        let labels: [String: Text]? = json.flatMap { try? $0.decoded(during: "read labels") }
        return labels?.compactMapValues(\.text) ?? [:]
    }
}
