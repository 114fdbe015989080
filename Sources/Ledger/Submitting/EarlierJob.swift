public import Conversion

/// The latest job of a destination. A submitter compares it with the file at the destination and with the new request.
public struct EarlierJob: Sendable, Hashable {
    public var job: Int64
    public var batch: Int64
    public var state: JobState
    /// The number of the requested work, from `WorkNumbers`; `nil` if the submitter gave none.
    public var work: Int64?
    public var onConflict: Recipe.ConflictPolicy
    /// The stamp of its source at submission.
    public var stamp: SourceStamp?
    /// The size and digest of the first output. If the job ended without an output, those of the last output that an
    /// earlier job made with the same work. The digest is SHA-256 in hexadecimal, and set only on request.
    public var bytes: Int64?
    public var digest: String?
    /// The same of the outputs after the first; `nil` for one that was left alone.
    public var further: [PublishedFile?]
    /// The code of the failure that ended it.
    public var code: String?

    public init(
        job: Int64,
        batch: Int64,
        state: JobState,
        work: Int64?,
        onConflict: Recipe.ConflictPolicy = .fail,
        stamp: SourceStamp? = nil,
        bytes: Int64? = nil,
        digest: String? = nil,
        further: [PublishedFile?] = [],
        code: String? = nil
    ) {
        self.job = job
        self.batch = batch
        self.state = state
        self.work = work
        self.onConflict = onConflict
        self.stamp = stamp
        self.bytes = bytes
        self.digest = digest
        self.further = further
        self.code = code
    }
}

/// Numbers for the work that recipes request. Recipes have the same number if they differ at most in their conflict
/// policies.
public struct WorkNumbers: Sendable {
    private var text = RecipeText()

    public init() {}

    /// Throws only for recipes that cannot be encoded as JSON.
    public mutating func number(of recipe: Recipe) throws -> Int64 { try text.work(recipe) }
}

extension JobLedger {
    /// The latest job of each destination, in their order; `nil` where there is none. All results come from one
    /// snapshot.
    public func earlierJobs(
        at destinations: [String],
        withDigests: Bool = false,
        within limit: Duration? = nil
    ) async throws -> [EarlierJob?] {
        try await look("find earlier jobs", within: limit ?? Self.submissionLimit) { connection in
            var found = [EarlierJob?](repeating: nil, count: destinations.count)
            let size = 20_000
            // Read all pages in one snapshot. Two equal submissions that look at different times then see each
            // other wholly or not at all.
            return try connection.transaction(.snapshot) {
                for start in stride(from: 0, to: destinations.count, by: size) {
                    let page = Array(destinations[start..<min(start + size, destinations.count)])
                    try connection.forEachRow("select * from \(schema).find_earlier(\(page), \(withDigests))") { row in
                        found[start + (try row[0] as Int) - 1] = try EarlierJob(row)
                    }
                }
                return found
            }
        }
    }
}

extension EarlierJob {
    // Reads the columns of `find_earlier` by position, because there may be a hundred thousand rows.
    init(_ row: Row) throws {
        let state: String = try row[3]
        let policy: String? = try row[5]
        guard let state = JobState(rawValue: state) else {
            throw LedgerError(.ledgerUnexpectedAnswer, during: row.operation, "unknown state \"\(state)\"")
        }
        let (bytes, modified): (Int64?, Int64?) = (try row[6], try row[7])
        self.init(
            job: try row[1],
            batch: try row[2],
            state: state,
            work: try row[4],
            onConflict: policy.flatMap { Recipe.ConflictPolicy(rawValue: $0) } ?? .fail,
            stamp: bytes.flatMap { bytes in modified.map { SourceStamp(bytes: bytes, modified: $0) } },
            bytes: try row[8],
            digest: try row[9],
            further: try [PublishedFile?](further: row),
            code: try row[10]
        )
    }
}
