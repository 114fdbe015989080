/// What the ledger says to a write about one job.
public enum JobAnswer: String, Sendable, Hashable, Codable, CaseIterable {
    /// It is so now.
    case done
    /// It was so already, by this very fence: an answer was lost, not the write.
    case `repeated`
    /// Another worker has the job, or it has ended. Throw the output away and write nothing.
    case lost
    /// The job was to be stopped and has ended so. Throw the output away.
    case cancelled
    /// By this very fence it has been published, so it cannot be handed back. Keep the output: the process that finishes the job counts on
    /// it.
    case publishing

    /// Whether what was said of the job is what stands.
    public var stands: Bool { self == .done || self == .repeated }
}
