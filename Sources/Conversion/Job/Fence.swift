public import FoundationEssentials

/// The proof of a right to a job, repeated with every write about it: which job, which claim of it, which lease.
///
/// All three have to fit. The number of the claim alone may be given out twice by a failover that loses one.
public struct Fence: Sendable, Hashable, Codable {
    public var job: Int64
    /// Grows at every claim of the job and never falls.
    public var epoch: Int32
    /// Drawn at random for each claim.
    public var lease: UUID

    public init(job: Int64, epoch: Int32, lease: UUID) {
        self.job = job
        self.epoch = epoch
        self.lease = lease
    }

    /// The lease as a number, the first of its bits on top.
    public var leaseNumber: UInt128 {
        withUnsafeBytes(of: lease.uuid) { $0.reduce(0) { $0 << 8 | UInt128($1) } }
    }
}

extension Fence: CustomStringConvertible {
    /// `job 17, epoch 2, lease 0F1E...`.
    public var description: String { "job \(job), epoch \(epoch), lease \(lease)" }
}
