/// The ledger's answer to a write about one job.
public enum JobAnswer: String, Sendable, Hashable, Codable, CaseIterable {
    /// The write took effect.
    case done
    /// The same write took effect earlier, under the same fence: its answer was lost, not the write.
    case `repeated`
    /// The fence is no longer valid: another worker has the job, or it has ended. Discard the output and write nothing.
    case lost
    /// A cancellation was requested, and the job has ended as cancelled. Discard the output.
    case cancelled
    /// The job has been published under this fence, so it cannot be handed back. Keep the output: the process that
    /// finishes the job needs it.
    case publishing

    /// Whether the ledger holds what the caller reported.
    public var stands: Bool { self == .done || self == .repeated }
}
