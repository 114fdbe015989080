import Conversion
import FoundationEssentials

extension JobLedger {
    /// Everything about a job; `nil` if no job has that number. Reads at the same time share calls.
    public func story(of job: Int64) async throws -> JobStory? {
        try await stories.value(of: job) { jobs in
            Dictionary(uniqueKeysWithValues: try await stories(of: jobs).map { ($0.summary.job, $0) })
        }
    }

    /// Everything about some jobs, in the order of their numbers. Jobs that do not exist are left out.
    ///
    /// Ask for a few hundred at a time: all of it is held in memory.
    public func stories(of jobs: [Int64]) async throws -> [JobStory] {
        try await look("show jobs") { connection in
            // Each query runs by itself. In one transaction they would hold `finished` while waiting for `attempt`,
            // against the lock order.
            var stories: [Int64: JobStory] = [:]
            var amended: [Int64] = []
            try connection.forEachRow("select * from \(schema).show_jobs(\(jobs))") { row in
                let story = try JobStory(reading: row)
                stories[story.summary.job] = story
                if try row["is_amended"] { amended.append(story.summary.job) }
            }
            try connection.forEachRow("select * from \(schema).list_attempts(\(jobs))") { row in
                stories[try row["job"]]?.attempts.append(try AttemptRecord(reading: row))
            }
            if !amended.isEmpty {
                try connection.forEachRow("select * from \(schema).list_amendments(\(amended))") { row in
                    stories[try row["job"]]?.amendments.append(try RecipeAmendment(row))
                }
            }
            let unable = stories.filter { $0.value.waitingFor == .unable }.keys
            if !unable.isEmpty {
                let lanes = try connection.rows("select * from \(schema).list_unable()", UnableLane.init(reading:))
                for job in unable { stories[job]?.learnWhatIsMissing(from: lanes) }
            }
            return stories.values.sorted { $0.summary.job < $1.summary.job }
        }
    }
}

extension JobStory {
    /// Sets `missing`: the needs of the job that no running worker has.
    fileprivate mutating func learnWhatIsMissing(from lanes: [UnableLane]) {
        missing = lanes.first { $0.needs == needs && $0.queue == summary.queue }?.missing ?? []
    }
}

/// Labels as the ledger stores them.
enum Labels {
    /// The labels that are strings. A submitter that uses plain SQL may have stored anything else beside them.
    static func read(_ json: JSON?) -> [String: String] {
        struct Text: Decodable {
            var text: String?
            init(from decoder: any Decoder) throws {
                // Only strings are labels.
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }
        // JSON that is nested a thousand deep fails in every decoder. One job's labels must not fail a claim of a
        // hundred jobs.
        let labels: [String: Text]? = json.flatMap { try? $0.decoded(during: "read labels") }
        return labels?.compactMapValues(\.text) ?? [:]
    }
}
