public import FoundationEssentials

/// A customer of an installation, to which tokens and batches belong.
public struct Tenant: Sendable, Hashable {
    public var name: String
    public var createdAt: Date
    public var createdBy: String
    /// How many of its tokens are valid.
    public var tokens: Int
    public var limits: TenantLimits

    init(_ row: Row) throws {
        name = try row["tenant"]
        createdAt = try row["created_at"]
        createdBy = try row["created_by"]
        tokens = try row["tokens"]
        limits = try TenantLimits(
            waitingJobs: row["waiting_jobs"],
            topPriority: row["top_priority"],
            maxAttempts: row["max_attempts"],
            reads: row["reads"],
            writes: row["writes"],
            uploadBytes: row["upload_bytes"]
        )
    }
}

/// What a tenant may submit. `nil` anywhere: no limit.
public struct TenantLimits: Sendable, Hashable {
    /// Jobs that wait or are delayed.
    public var waitingJobs: Int64?
    /// The highest priority of a batch.
    public var topPriority: Int32?
    /// The highest number of attempts that a job may ask for. The default of the ledger is always allowed.
    public var maxAttempts: Int32?
    /// What the locations of sources must begin with: `archive:` for a whole root, `archive:radio/` for a folder.
    public var reads: [String]?
    /// What the locations of outputs must begin with.
    public var writes: [String]?
    /// Bytes that it may upload in 24 hours. Uploads go only where it may write.
    public var uploadBytes: Int64?

    public init(
        waitingJobs: Int64? = nil,
        topPriority: Int32? = nil,
        maxAttempts: Int32? = nil,
        reads: [String]? = nil,
        writes: [String]? = nil,
        uploadBytes: Int64? = nil
    ) {
        (self.waitingJobs, self.topPriority, self.maxAttempts) = (waitingJobs, topPriority, maxAttempts)
        (self.reads, self.writes, self.uploadBytes) = (reads, writes, uploadBytes)
    }
}

extension TenantLimits: Encodable {
    /// The names of the ledger's columns.
    private enum CodingKeys: String, CodingKey {
        case waitingJobs = "waiting_jobs"
        case topPriority = "top_priority"
        case maxAttempts = "max_attempts"
        case reads, writes
        case uploadBytes = "upload_bytes"
    }
}
