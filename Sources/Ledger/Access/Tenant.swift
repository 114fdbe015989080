public import Conversion
public import FoundationEssentials

/// A customer of an installation, to which tokens and batches belong.
public struct Tenant: Sendable, Hashable {
    public var name: String
    public var createdAt: Date
    public var createdBy: String
    /// How many of its tokens are valid.
    public var tokens: Int
    public var limits: TenantLimits
    /// The processor time that its conversions have used in the last day, exact to ten minutes.
    public var usedCPU: Duration
    /// The bytes of the outputs that were published for it in that time.
    public var usedOutputBytes: Int64
    /// Set while its waiting jobs are held back.
    public var hold: TenantHold?

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
            uploadBytes: row["upload_bytes"],
            cpuMinutes: row["cpu_minutes"],
            outputBytes: row["output_bytes"],
            destination: row["destination"],
            jobs: (row["job_limits"] as JSON?)?.decoded(during: row.operation),
            maxOutputs: row["max_outputs"]
        )
        usedCPU = .milliseconds(try row["used_cpu_ms"] as Int64)
        usedOutputBytes = try row["used_output_bytes"]
        hold = try row["held_for"] as String? == nil ? nil : TenantHold(row)
    }
}

/// A tenant whose jobs wait, because its conversions have used up what they may use in 24 hours.
public struct TenantHold: Sendable, Hashable {
    /// What can be used up.
    public enum Allowance: String, Sendable, Hashable, Codable, CaseIterable {
        /// Minutes of processor time.
        case cpuMinutes = "cpu_minutes"
        /// Bytes of outputs.
        case outputBytes = "output_bytes"
    }

    public var tenant: String
    public var allowance: Allowance
    /// When claims take its jobs again, unless jobs that still run use more.
    public var until: Date

    public init(tenant: String, allowance: Allowance, until: Date) {
        (self.tenant, self.allowance, self.until) = (tenant, allowance, until)
    }

    init(_ row: Row) throws {
        self.init(tenant: try row["tenant"], allowance: try row.value("held_for"), until: try row["held_until"])
    }
}

/// What a tenant may submit and use. `nil` anywhere: no limit.
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
    /// Minutes of processor time that its conversions may use in 24 hours. Afterwards its jobs wait.
    public var cpuMinutes: Int64?
    /// Bytes of outputs that may be published for it in 24 hours. Afterwards its jobs wait.
    public var outputBytes: Int64?
    /// The template of its destinations, in the syntax of `TenantDestination`; `nil` if it names them itself.
    public var destination: String?
    /// What one of its jobs may take. Workers apply it to jobs whose recipes ask for more, or for nothing.
    public var jobs: JobCeilings?
    /// The highest number of outputs of a job.
    public var maxOutputs: Int32?

    public init(
        waitingJobs: Int64? = nil,
        topPriority: Int32? = nil,
        maxAttempts: Int32? = nil,
        reads: [String]? = nil,
        writes: [String]? = nil,
        uploadBytes: Int64? = nil,
        cpuMinutes: Int64? = nil,
        outputBytes: Int64? = nil,
        destination: String? = nil,
        jobs: JobCeilings? = nil,
        maxOutputs: Int32? = nil
    ) {
        (self.waitingJobs, self.topPriority, self.maxAttempts) = (waitingJobs, topPriority, maxAttempts)
        (self.reads, self.writes, self.uploadBytes) = (reads, writes, uploadBytes)
        (self.cpuMinutes, self.outputBytes, self.destination) = (cpuMinutes, outputBytes, destination)
        (self.jobs, self.maxOutputs) = (jobs, maxOutputs)
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
        case cpuMinutes = "cpu_minutes"
        case outputBytes = "output_bytes"
        case destination
        case jobs = "job_limits"
        case maxOutputs = "max_outputs"
    }
}

/// The highest limits of recipes. `nil`: that of the worker.
public struct JobCeilings: Sendable, Hashable, Codable {
    public var wallSeconds: Int64?
    public var cpuSeconds: Int64?
    public var outputBytes: Int64?
    public var decodedSeconds: Int64?

    public init(
        wallSeconds: Int64? = nil,
        cpuSeconds: Int64? = nil,
        outputBytes: Int64? = nil,
        decodedSeconds: Int64? = nil
    ) {
        (self.wallSeconds, self.cpuSeconds) = (wallSeconds, cpuSeconds)
        (self.outputBytes, self.decodedSeconds) = (outputBytes, decodedSeconds)
    }

    /// The names of the limits of a recipe that are higher, so that these hold instead.
    public func exceeded(by limits: Recipe.Limits?) -> [String] {
        func isHigher(_ asked: Int64?, _ most: Int64?) -> Bool { asked.map { $0 > most ?? .max } ?? false }
        return [
            ("wallSeconds", isHigher(limits?.wallSeconds.map { Int64($0) }, wallSeconds)),
            ("cpuSeconds", isHigher(limits?.cpuSeconds.map { Int64($0) }, cpuSeconds)),
            ("outputBytes", isHigher(limits?.outputBytes, outputBytes)),
            ("decodedSeconds", isHigher(limits?.decodedSeconds.map { Int64($0) }, decodedSeconds)),
        ].filter { $0.1 }.map { $0.0 }
    }
}
