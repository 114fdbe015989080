public import Conversion
import FoundationEssentials

extension JobLedger {
    /// Records what the scan of a running job has found, and compares it with the scan before. `stamp` is that of the file
    /// when it was opened; `sound` is `nil` if its sound could not be decoded.
    ///
    /// The first call of an attempt counts; a repetition gets its answer.
    public func recordScan(
        _ sound: SoundDigest?,
        of stamp: SourceStamp,
        _ fence: Fence,
        within limit: Duration? = nil
    ) async throws -> ScanVerdict {
        try await settle("record the result of a scan", within: limit) { connection, _ in
            try connection.first(
                """
                select * from \(schema).record_scan(
                    \(fence.job), \(fence.epoch), \(fence.lease), \(stamp.bytes), \(stamp.modified), \(sound?.sha256),
                    \(sound?.description), \(sound?.decoder))
                """,
                ScanVerdict.init
            ) ?? .lost
        }
    }

    /// What is known of the scans of each source, in their order; `nil` where there was none. All results come from one
    /// snapshot.
    public func earlierScans(of sources: [String], within limit: Duration? = nil) async throws -> [EarlierScan?] {
        try await look("find earlier scans", within: limit ?? Self.submissionLimit) { connection in
            var found = [EarlierScan?](repeating: nil, count: sources.count)
            let size = 20_000
            return try connection.transaction(.snapshot) {
                for start in stride(from: 0, to: sources.count, by: size) {
                    let page = Array(sources[start..<min(start + size, sources.count)])
                    try connection.forEachRow("select * from \(schema).find_scans(\(page))") { row in
                        found[start + (try row[0] as Int) - 1] = try EarlierScan(found: row)
                    }
                }
                return found
            }
        }
    }
}

extension ScanVerdict {
    /// A row of `record_scan`.
    init(_ row: Row) throws {
        self =
            try row["has_rotten"]
            ? .rotten(digest: try row["digest"], since: try row["digest_at"]) : .recorded
    }
}
