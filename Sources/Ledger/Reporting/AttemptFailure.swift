public import Conversion

/// A failed attempt.
public struct AttemptFailure: Sendable, Hashable {
    public var fence: Fence
    public var failure: Failure
    /// The pump room's last output.
    public var lastWords: String?
    /// Whether the pump room died because of this job.
    public var isRoomDeath: Bool
    /// The ability that the job needs and this worker lacks.
    public var need: String?
    public var facts: AttemptFacts

    public init(
        _ fence: Fence,
        _ failure: Failure,
        lastWords: String? = nil,
        isRoomDeath: Bool = false,
        need: String? = nil,
        facts: AttemptFacts = AttemptFacts()
    ) {
        self.fence = fence
        self.failure = failure
        self.lastWords = lastWords
        self.isRoomDeath = isRoomDeath
        self.need = need
        self.facts = facts
    }
}

/// Why a worker hands a job back, as shown in the job's story.
public enum ReleaseReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// No particular reason.
    case handedBack = "handed_back"
    /// The worker is being stopped.
    case draining
    /// Another job in the same pump room killed it.
    case neighbourCrashed = "neighbour_crashed"
    /// This worker cannot do the job, and others may.
    case unable
    /// The file system of the job's output is full.
    case fileSystemFull = "file_system_full"
    /// The file system of its source or its output is not mounted.
    case fileSystemMissing = "file_system_missing"
}
