/// That jobs are in the ledger, and under which numbers.
public struct SubmissionReceipt: Sendable, Hashable, Codable {
    public var batch: Int64
    /// The jobs' numbers lie between these, in the order of the submission; those of other batches may lie there too.
    public var firstJob: Int64
    public var lastJob: Int64
    public var jobCount: Int
    /// Whether the key was known already, and nothing was added.
    public var isRepetition: Bool
    /// Whether a repetition asked for the same jobs. Always so of what is none.
    public var isSameRequest: Bool
}
