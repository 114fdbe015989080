import Conversion
public import FoundationEssentials

extension JobLedger {
    /// A page of at most `limit` jobs, newest first; with a source prefix, by source.
    public func jobs(
        matching filter: JobFilter = JobFilter(),
        after cursor: JobCursor? = nil,
        limit: Int32 = 50
    ) async throws -> JobPage {
        let json = try JSON(filter)
        return try await settle("list jobs") { connection, _ in
            // Ask for one job more than needed, to see whether there is another page.
            let more = limit + 1
            let rows = try connection.rows("select * from \(schema).list_jobs(\(json), \(cursor?.json), \(more))") {
                (try JobSummary($0), try $0["next"] as JSON?)
            }
            let page = rows.prefix(Int(limit))
            return JobPage(jobs: page.map(\.0), next: rows.count > page.count ? JobCursor(page.last?.1) : nil)
        }
    }

    /// How many jobs match a filter. Uses folded counts if the filter names only states and a queue, and counts
    /// rows otherwise.
    public func count(matching filter: JobFilter = JobFilter()) async throws -> Int {
        let json = try JSON(filter)
        return try await settle("count jobs") { connection, _ in
            try connection.value("select \(schema).count_jobs(\(json))")
        }
    }

    /// How many jobs match a filter, counting only those that the caller may change.
    func countSteerable(_ filter: JobFilter) async throws -> Int {
        let json = try JSON(filter)
        return try await settle("count jobs") { connection, _ in
            try connection.value("select \(schema).count_jobs(\(json), true)")
        }
    }

    /// Failures grouped by code, class and stage, the most frequent first. Covers the whole ledger, a queue, or a
    /// batch.
    public func failures(since: Date? = nil, queue: String? = nil, batch: Int64? = nil) async throws -> [FailureGroup] {
        try await settle("group failures") { connection, _ in
            try connection.rows(
                "select * from \(schema).list_failures(\(since), \(queue), \(batch))",
                FailureGroup.init
            )
        }
    }
}
