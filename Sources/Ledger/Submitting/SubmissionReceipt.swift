/// Confirms that jobs are in the ledger, with their numbers.
public struct SubmissionReceipt: Sendable, Hashable, Codable {
    public var batch: Int64
    /// The batch's job numbers lie in this range, in the order of submission. Numbers of other batches may lie
    /// there too.
    public var firstJob: Int64
    public var lastJob: Int64
    public var jobCount: Int
    /// Whether the key was already in use, so that nothing was added.
    public var isRepetition: Bool
    /// Whether a repetition asked for the same jobs. Always true if it is no repetition.
    public var isSameRequest: Bool
    /// The names of limits that recipes of this request ask for and the tenant does not have, so that its own hold
    /// instead. Only a coordinator says this.
    public var clamped: [String]?
}
