/// Identifies the attempt that a hidden file belongs to: one lease of one job. No two workers ever make the same name.
///
/// The name is part of the file name, so any process that finds the file knows which row of the ledger decides about
/// it.
public struct AttemptName: Sendable, Hashable {
    public let job: Int64
    public let epoch: Int64
    /// The 128 bits of the lease's UUID, its first byte the most significant.
    public let lease: UInt128

    public init(job: Int64, epoch: Int64, lease: UInt128) {
        self.job = job
        self.epoch = epoch
        self.lease = lease
    }

    /// The first 32 bits of the lease, which all leases of one ledger share and no other ledger's leases have.
    public var ledger: UInt32 { UInt32(truncatingIfNeeded: lease >> 96) }

    /// The attempt's file for the destination `name`: `.NAME.sluice-JOB-EPOCH-LEASE.attempt`.
    public func fileName(for name: String) -> String {
        let digits = String(lease, radix: 16)
        let padded = String(repeating: "0", count: 32 - digits.count) + digits
        return ".\(HiddenName.stem(of: name)).sluice-\(job)-\(epoch)-\(padded)\(Self.suffix)"
    }

    /// The attempt that a hidden file belongs to; `nil` if it is not an attempt's file.
    public init?(fileName: String) {
        // Compares a byte: a name that begins with a combining mark would hide the full stop before it.
        guard fileName.utf8.first == UInt8(ascii: "."), fileName.hasSuffix(Self.suffix) else { return nil }
        let stem = fileName.dropLast(Self.suffix.count)
        // Parses from the end, because the destination's own name may contain anything.
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false).suffix(4)
        guard parts.count == 4, parts[parts.startIndex].hasSuffix(".sluice") else { return nil }
        let numbers = Array(parts.dropFirst())
        guard let job = Int64(numbers[0]), let epoch = Int64(numbers[1]), numbers[2].utf8.count == 32,
            let lease = UInt128(numbers[2], radix: 16)
        else { return nil }
        self.init(job: job, epoch: epoch, lease: lease)
    }

    private static let suffix = ".attempt"
}
