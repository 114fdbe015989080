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
