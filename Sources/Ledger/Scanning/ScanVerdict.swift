public import FoundationEssentials

/// What the ledger says of the result of a scan.
public enum ScanVerdict: Sendable, Hashable {
    /// The result does not contradict the last scan; the digest, if any, is recorded.
    case recorded
    /// The same file had this digest when it was scanned then. The ledger keeps it.
    case rotten(digest: String, since: Date)
    /// The worker no longer has the job.
    case lost
}
