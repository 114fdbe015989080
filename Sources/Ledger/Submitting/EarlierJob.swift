public import Conversion

/// The latest job of a destination. A submitter compares it with the file at the destination and with the new request.
public struct EarlierJob: Sendable, Hashable {
    public var job: Int64 = 0
    public var batch: Int64 = 0
    public var state = JobState.waiting
    /// The number of the requested work, from `WorkNumbers`; `nil` if the submitter gave none.
    public var work: Int64?
    public var onConflict = Recipe.ConflictPolicy.fail
    /// The stamp of its source at submission.
    public var stamp: SourceStamp?
    /// The size and digest of the first output. If the job ended without an output, those of the last output that an
    /// earlier job made with the same work. The digest is SHA-256 in hexadecimal, and set only on request.
    public var bytes: Int64?
    public var digest: String?
    /// The same of the outputs after the first; `nil` for one that was left alone.
    public var further: [PublishedFile?] = []
    /// The code of the failure that ended it.
    public var code: String?

    package init() {}
}

extension EarlierJob: LedgerRecord {
    package static var blank: EarlierJob { EarlierJob() }

    // Without columns: rows are read by position, because there may be a hundred thousand of them.
    package static let fields: [RecordField<EarlierJob>] = [
        .always("job", \.job, .id, "the job's number").withoutColumn,
        .always("batch", \.batch, .id, "the batch that it was submitted with").withoutColumn,
        .always("state", \.state, .choice, "where it is in its life").withoutColumn,
        .maybe("work", \.work, .whole, "the number of the requested work").withoutColumn,
        .always("onConflict", \.onConflict, .choice, "as in recipes").withoutColumn,
        .maybe("stamp", \.stamp, .record("SourceStamp"), "of its source at submission").withoutColumn,
        .maybe("bytes", \.bytes, .size, "the length of the first output").withoutColumn,
        .maybe("digest", \.digest, .text, "SHA-256 of the first output").withoutColumn,
        .further("furtherOutputs", \.further).withoutColumn,
        .maybe("code", \.code, .text, "the failure that ended it").withoutColumn,
    ]

    /// A row of `find_earlier`.
    init(found row: Row) throws {
        let (state, policy): (String, String?) = (try row[3], try row[5])
        guard let state = JobState(rawValue: state) else {
            throw LedgerError(.ledgerUnexpectedAnswer, during: row.operation, "unknown state \"\(state)\"")
        }
        let (bytes, modified): (Int64?, Int64?) = (try row[6], try row[7])
        (job, batch, self.state, work) = (try row[1], try row[2], state, try row[4])
        onConflict = policy.flatMap { Recipe.ConflictPolicy(rawValue: $0) } ?? .fail
        stamp = bytes.flatMap { bytes in modified.map { SourceStamp(bytes: bytes, modified: $0) } }
        (self.bytes, digest, code) = (try row[8], try row[9], try row[10])
        further = try [PublishedFile?](further: row)
        // Release 0.1 knows no accepted jobs, so the ledger reports them as failed.
        if try row[12] { self.state = .accepted }
    }
}

/// What is known of the jobs of some destinations, in their order.
package struct EarlierJobs: Codable, Sendable {
    package let earlier: [JSONRecord<EarlierJob>?]

    package init(_ jobs: [EarlierJob?]) { earlier = jobs.map { $0.map(JSONRecord.init) } }
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
        Array(try await earlierJobList(at: destinations, withDigests: withDigests, within: limit))
    }

    /// The same in little memory. The destinations are read as they are sent, and again if a try fails.
    package func earlierJobList(
        at destinations: some RandomAccessCollection<String> & Sendable,
        withDigests: Bool,
        within limit: Duration? = nil
    ) async throws -> EarlierJobList {
        try await look("find earlier jobs", within: limit ?? Self.submissionLimit) { connection in
            var found = EarlierJobList(count: destinations.count)
            let size = 20_000
            // Read all pages in one snapshot. Two equal submissions that look at different times then see each
            // other wholly or not at all.
            return try connection.transaction(.snapshot) {
                for start in stride(from: 0, to: destinations.count, by: size) {
                    let page = Array(destinations.dropFirst(start).prefix(size))
                    try connection.forEachRow("select * from \(schema).find_earlier(\(page), \(withDigests))") { row in
                        found.set(try EarlierJob(found: row), at: start + (try row[0] as Int) - 1)
                    }
                }
                return found
            }
        }
    }
}
