public import FoundationEssentials

/// Proves a worker's right to a job, and guards every write about it: the job, the epoch of the claim, the lease.
///
/// All three must match. The epoch alone is not enough: a failover that loses a claim can give out its number twice.
public struct Fence: Sendable, Hashable, Codable {
    public var job: Int64
    /// Increases with every claim of the job and never decreases.
    public var epoch: Int32
    /// Drawn at random for each claim.
    public var lease: UUID

    public init(job: Int64, epoch: Int32, lease: UUID) {
        self.job = job
        self.epoch = epoch
        self.lease = lease
    }

    /// The lease id as a number, its first byte the most significant.
    public var leaseNumber: UInt128 {
        withUnsafeBytes(of: lease.uuid) { $0.reduce(0) { $0 << 8 | UInt128($1) } }
    }
}

extension Fence: CustomStringConvertible {
    /// For example `job 17, epoch 2, lease 0F1E...`.
    public var description: String { "job \(job), epoch \(epoch), lease \(lease)" }
}
