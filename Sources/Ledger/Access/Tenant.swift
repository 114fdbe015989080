public import Conversion
public import FoundationEssentials

/// A customer of an installation, to which tokens and batches belong.
public struct Tenant: Sendable, Hashable {
    public var name = ""
    public var createdAt = Date.distantPast
    public var createdBy = ""
    /// How many of its tokens are valid.
    public var tokens = 0
    public var limits = TenantLimits()
    /// The processor time that its conversions have used in the last day, exact to ten minutes.
    public var usedCPU = Duration.zero
    /// The bytes of the outputs that were published for it in that time.
    public var usedOutputBytes: Int64 = 0
    /// Set while its waiting jobs are held back.
    public var hold: TenantHold?

    package init() {}
}

/// A tenant as it sees itself.
extension Tenant: LedgerRecord {
    package static var blank: Tenant { Tenant() }

    package static let fields: [RecordField<Tenant>] =
        [.always("tenant", \.name, .text, "its name")]
        + TenantLimits.fields.map { $0.of(\.limits) }
        + [
            .always("cpuSecondsUsed", \.usedCPU, .seconds, "in the last 24 hours", column: "used_cpu_ms"),
            .always("outputBytesUsed", \.usedOutputBytes, .size, "in the last 24 hours", column: "used_output_bytes"),
            .special(
                "heldFor",
                RecordKind<TenantHold.Allowance>.choice.shape,
                "the limit that is used up; its jobs wait",
                read: { tenant, row in
                    tenant.hold = try row["held_for"] as String? == nil ? nil : TenantHold(reading: row)
                },
                encode: { tenant, encoder, key in try encoder.encodeIfPresent(tenant.hold?.allowance, forKey: key) },
                decode: { tenant, decoder, key in
                    guard let allowance = try decoder.decodeIfPresent(TenantHold.Allowance.self, forKey: key) else {
                        return
                    }
                    tenant.hold = TenantHold(tenant: tenant.name, allowance: allowance, until: .distantPast)
                }
            ),
            .special(
                "heldUntil",
                .moment,
                "when its jobs go on, unless those that run use more",
                encode: { tenant, encoder, key in try encoder.encodeIfPresent(tenant.hold?.until, forKey: key) },
                decode: { tenant, decoder, key in
                    if let date = try decoder.decodeIfPresent(Date.self, forKey: key) { tenant.hold?.until = date }
                }
            ),
        ]
}

/// A tenant as those see it who administer tenants.
package struct AdministeredTenant: LedgerRecord, ListedRecord {
    package static let listName = "tenants"
    package var tenant: Tenant

    package init(_ tenant: Tenant) { self.tenant = tenant }

    package static var blank: AdministeredTenant { AdministeredTenant(Tenant()) }

    package static let fields: [RecordField<AdministeredTenant>] =
        Tenant.fields.map { $0.of(\.tenant) }
        + [
            .always("createdAt", \.tenant.createdAt, .moment, "when it was created"),
            .always("createdBy", \.tenant.createdBy, .text, "who created it"),
            .always("tokens", \.tenant.tokens, .count, "how many of its tokens are valid"),
        ]
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

}

extension TenantHold: LedgerRecord, ListedRecord {
    package static let listName = "holds"
    package static var blank: TenantHold { TenantHold(tenant: "", allowance: .cpuMinutes, until: .distantPast) }

    package static let fields: [RecordField<TenantHold>] = [
        .always("tenant", \.tenant, .text, "the tenant whose jobs wait"),
        .always("heldFor", \.allowance, .choice, "the limit that is used up"),
        .always("heldUntil", \.until, .moment, "when its jobs go on, unless those that run use more"),
    ]
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

/// The limits, in the members of a larger record.
extension TenantLimits: LedgerRecord {
    package static var blank: TenantLimits { TenantLimits() }

    package static let fields: [RecordField<TenantLimits>] = [
        .maybe(
            "waitingJobs",
            \.waitingJobs,
            .whole,
            "jobs that may wait or be delayed; what is missing here has no limit"
        ),
        .maybe("topPriority", \.topPriority, .chosen(in: -32_768...32_767), "the highest priority of its batches"),
        .maybe("maxAttempts", \.maxAttempts, .chosen(in: LedgerRules.attempts), "attempts that its jobs may ask for"),
        .maybe("reads", \.reads, .texts, "what the locations of its sources begin with"),
        .maybe("writes", \.writes, .texts, "what the locations of its outputs and uploads begin with"),
        .maybe("uploadBytes", \.uploadBytes, .whole, "bytes that it may upload in 24 hours"),
        .maybe("cpuMinutes", \.cpuMinutes, .whole, "CPU time that its conversions may use in 24 hours"),
        .maybe("outputBytes", \.outputBytes, .whole, "bytes of outputs that may be published for it in 24 hours"),
        .maybe(
            "destination",
            \.destination,
            .text,
            "the template of its destinations: a job without an output gets one by it"
        ),
        .maybe(
            "jobLimits",
            \.jobs,
            .record("JobLimits"),
            "the highest limits of its recipes; they also hold for recipes without limits"
        ),
        .maybe("maxOutputs", \.maxOutputs, .chosen(in: 1...Int(Int32.max)), "the highest number of outputs of a job"),
    ]
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
public struct JobCeilings: Sendable, Hashable {
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

extension JobCeilings: LedgerRecord {
    package static var blank: JobCeilings { JobCeilings() }

    package static let fields: [RecordField<JobCeilings>] = [
        .maybe("wallSeconds", \.wallSeconds, .whole, "of time for a job"),
        .maybe("cpuSeconds", \.cpuSeconds, .whole, "of CPU time"),
        .maybe("outputBytes", \.outputBytes, .whole, "of its outputs"),
        .maybe("decodedSeconds", \.decodedSeconds, .whole, "of audio, decoded and in all outputs"),
    ]
}

extension JobCeilings: Codable {
    public init(from decoder: any Decoder) throws { self = try JSONRecord<JobCeilings>(from: decoder).record }

    public func encode(to encoder: any Encoder) throws { try JSONRecord(self).encode(to: encoder) }
}
