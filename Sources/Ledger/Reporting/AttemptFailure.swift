public import Conversion

/// An attempt that came to nothing.
public struct AttemptFailure: Sendable, Hashable {
    public var fence: Fence
    public var failure: Failure
    /// The last that the pump room said.
    public var lastWords: String?
    /// Whether the room died of this job.
    public var isRoomDeath: Bool
    /// What a worker must be able to do that this one cannot.
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

/// Why a job is handed back, as people read it in its story.
public enum ReleaseReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// No reason of note.
    case handedBack = "handed_back"
    /// The worker is being stopped.
    case draining
    /// Another job of the same pump room killed it.
    case neighbourCrashed = "neighbour_crashed"
    /// This worker cannot do the job, and others may.
    case unable
    /// The file system that it writes to is full.
    case fileSystemFull = "file_system_full"
    /// The file system on which its source or its output lies is not mounted.
    case fileSystemMissing = "file_system_missing"
}
