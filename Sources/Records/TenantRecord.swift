package import FoundationEssentials
package import Ledger

/// The JSON form of a tenant: its limits, and what its conversions have used of their day.
package struct TenantRecord: Codable, Sendable {
    package let tenant: String
    package let waitingJobs: Int64?
    package let topPriority: Int32?
    package let maxAttempts: Int32?
    package let reads: [String]?
    package let writes: [String]?
    package let uploadBytes: Int64?
    package let cpuMinutes: Int64?
    package let outputBytes: Int64?
    package let destination: String?
    package let jobLimits: JobCeilings?
    package let maxOutputs: Int32?
    package let cpuSecondsUsed: Double
    package let outputBytesUsed: Int64
    package let heldFor: TenantHold.Allowance?
    package let heldUntil: Date?
    /// For operators only.
    package let createdAt: Date?
    package let createdBy: String?
    package let tokens: Int?

    /// `isForItself`: leaves out what only operators are told.
    package init(_ tenant: Tenant, isForItself: Bool = false) {
        let limits = tenant.limits
        self.tenant = tenant.name
        (waitingJobs, topPriority, maxAttempts) = (limits.waitingJobs, limits.topPriority, limits.maxAttempts)
        (reads, writes, uploadBytes) = (limits.reads, limits.writes, limits.uploadBytes)
        (cpuMinutes, outputBytes, destination) = (limits.cpuMinutes, limits.outputBytes, limits.destination)
        (cpuSecondsUsed, outputBytesUsed) = (tenant.usedCPU / .seconds(1), tenant.usedOutputBytes)
        (jobLimits, maxOutputs) = (limits.jobs, limits.maxOutputs)
        (heldFor, heldUntil) = (tenant.hold?.allowance, tenant.hold?.until)
        createdAt = isForItself ? nil : tenant.createdAt
        createdBy = isForItself ? nil : tenant.createdBy
        tokens = isForItself ? nil : tenant.tokens
    }

    /// The limits of what it may submit.
    package var limits: TenantLimits {
        TenantLimits(
            waitingJobs: waitingJobs,
            topPriority: topPriority,
            maxAttempts: maxAttempts,
            reads: reads,
            writes: writes,
            uploadBytes: uploadBytes,
            cpuMinutes: cpuMinutes,
            outputBytes: outputBytes,
            destination: destination,
            jobs: jobLimits,
            maxOutputs: maxOutputs
        )
    }
}
