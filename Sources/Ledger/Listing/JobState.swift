/// The state of a job.
public enum JobState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Its time has not come: it has a run-at time, or backs off before another try.
    case delayed
    case waiting
    case running
    /// Its output is complete and waits to be renamed.
    case publishing
    case completed
    /// Another file stood at its destination and was left there, as the recipe demands.
    case skipped
    case failed
    /// It failed, and a person has accepted that. It counts apart from failed jobs, and no wait fails for it.
    case accepted
    case cancelled

    /// The states in which a job has not ended.
    public static let open: [JobState] = [.delayed, .waiting, .running, .publishing]

    /// Whether the job has ended. Only a retry reopens it.
    public var isEnd: Bool { !Self.open.contains(self) }
}
