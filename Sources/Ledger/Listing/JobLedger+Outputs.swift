public import FoundationEssentials

/// An output as it was when it was published.
public struct RecordedOutput: Sendable, Hashable {
    public var job: Int64
    /// The location of the job's first source.
    public var source: String
    public var destination: String
    public var bytes: Int64
    /// SHA-256 in hexadecimal.
    public var digest: String
}

/// A job that made the output at a destination, or may still make it.
public struct OutputMaker: Sendable, Hashable {
    public var job: Int64
    /// `completed`, or one of the open states.
    public var state: JobState
    public var endedAt: Date?
    /// The output of a completed job; the digest is SHA-256 in hexadecimal.
    public var bytes: Int64?
    public var digest: String?
}

extension JobLedger {
    /// A page of the outputs of completed jobs, in the order of `jobs(matching:)`. `next` is `nil` on the last page.
    public func outputs(
        matching filter: JobFilter = JobFilter(),
        after cursor: JobCursor? = nil,
        limit: Int32 = 1_000
    ) async throws -> (outputs: [RecordedOutput], next: JobCursor?) {
        let json = try JSON(filter.narrowed(to: [.completed]))
        return try await settle("list outputs") { connection, _ in
            let rows = try connection.rows("select * from \(schema).list_outputs(\(json), \(cursor?.json), \(limit))") {
                row -> (RecordedOutput?, JSON?) in
                // A row without a job: a search inside sources continues on the next page.
                guard try (row["job"] as Int64?) != nil else { return (nil, try row["next"]) }
                let output = RecordedOutput(
                    job: try row["job"],
                    source: try row["source"],
                    destination: try row["destination"],
                    bytes: try row["size"],
                    digest: try row["digest"]
                )
                return (output, try row["next"] as JSON?)
            }
            // A page that is not full is the last, unless the search continues.
            let isLast = rows.count < Int(limit) && rows.last?.0 != nil
            return (rows.compactMap(\.0), isLast ? nil : JobCursor(rows.last?.1))
        }
    }

    /// For each destination, the jobs that made its output or may still make it.
    public func makers(of destinations: [String]) async throws -> [[OutputMaker]] {
        try await settle("find the jobs of outputs") { connection, _ in
            var makers = [[OutputMaker]](repeating: [], count: destinations.count)
            try connection.forEachRow("select * from \(schema).list_makers(\(destinations))") { row in
                let maker = OutputMaker(
                    job: try row["job"],
                    state: try row.value("state"),
                    endedAt: try row["ended_at"],
                    bytes: try row["size"],
                    digest: try row["digest"]
                )
                makers[try (row["place"] as Int) - 1].append(maker)
            }
            return makers
        }
    }
}
