import Conversion
public import FoundationEssentials

extension JobLedger {
    /// A page of at most `limit` jobs, newest first; with a source prefix, by source.
    public func jobs(
        matching filter: JobFilter = JobFilter(),
        after cursor: JobCursor? = nil,
        limit: Int32 = 50
    ) async throws -> JobPage {
        try await jobs(matching: filter, after: cursor, limit: limit, calls: .max)
    }

    /// The same with at most so many calls of the database. A search inside sources reads 20,000 of them in a call, and may end
    /// before it has found a whole page.
    package func jobs(
        matching filter: JobFilter,
        after cursor: JobCursor?,
        limit: Int32,
        calls mostCalls: Int
    ) async throws -> JobPage {
        let json = try JSON(filter)
        var rows: [(job: JobSummary, next: JSON?)] = []
        var (behind, calls) = (cursor?.json, 0)
        repeat {
            // Ask for one job more than needed, to see whether there is another page.
            let (start, wanted) = (behind, limit + 1 - Int32(rows.count))
            let part = try await look("list jobs") { connection in
                try connection.rows("select * from \(schema).list_jobs(\(json), \(start), \(wanted))") { row in
                    (try (row["job"] as Int64?) == nil ? nil : try JobSummary(listed: row), try row["next"] as JSON?)
                }
            }
            calls += 1
            rows += part.compactMap { row in row.0.map { ($0, row.1) } }
            // A row without a job: a search inside sources continues with another call.
            behind = part.last.flatMap { $0.0 == nil ? $0.1 : nil }
        } while behind != nil && calls < mostCalls
        if let behind { return JobPage(jobs: rows.map(\.job), next: JobCursor(behind), isCutShort: true) }
        let page = rows.prefix(Int(limit))
        return JobPage(jobs: page.map(\.job), next: rows.count > page.count ? JobCursor(page.last?.next) : nil)
    }

    /// How many jobs match a filter. Uses folded counts if the filter names only states and a queue, and counts
    /// rows otherwise.
    public func count(matching filter: JobFilter = JobFilter()) async throws -> Int {
        try await count(filter, isForSteering: false)
    }

    /// How many jobs match a filter, counting only those that the caller may change.
    func countSteerable(_ filter: JobFilter) async throws -> Int { try await count(filter, isForSteering: true) }

    private func count(_ filter: JobFilter, isForSteering: Bool) async throws -> Int {
        let json = try JSON(filter)
        guard filter.sourceContains?.isEmpty == false else {
            return try await look("count jobs") { connection in
                try connection.value("select \(schema).count_jobs(\(json), \(isForSteering))")
            }
        }
        var (count, behind): (Int, JSON?) = (0, nil)
        repeat {
            let start = behind
            let part = try await look("count jobs") { connection in
                try connection.first(
                    "select * from \(schema).count_containing(\(json), \(isForSteering), \(start))"
                ) { row in (try row["jobs"] as Int, try row["next"] as JSON?) }
            }
            count += part?.0 ?? 0
            behind = part?.1
        } while behind != nil
        return count
    }

    /// Failures grouped by code, class and stage, the most frequent first. Covers the whole ledger, a queue, or a
    /// batch.
    public func failures(since: Date? = nil, queue: String? = nil, batch: Int64? = nil) async throws -> [FailureGroup] {
        try await look("group failures") { connection in
            try connection.rows(
                "select * from \(schema).list_failures(\(since), \(queue), \(batch))",
                FailureGroup.init(reading:)
            )
        }
    }

    /// How many attempts failed in each hour since that of `since`, by what they failed with. Not for tenants.
    public func failureHours(since: Date, queue: String? = nil) async throws -> [FailureHour] {
        try await look("count failures by the hour") { connection in
            try connection.rows(
                "select * from \(schema).failure_hours(\(since), \(queue))",
                FailureHour.init(reading:)
            )
        }
    }
}
