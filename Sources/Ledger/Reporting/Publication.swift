public import Conversion

/// An output that is complete, durable and linked under its attempt's name, ready to be renamed.
public struct Publication: Sendable, Hashable {
    public var fence: Fence
    /// Its current name, in the directory of its destination.
    public var attemptName: String
    /// SHA-256 in hexadecimal.
    public var digest: String
    public var bytes: Int64
    public var facts: AttemptFacts

    public init(_ fence: Fence, attemptName: String, digest: String, bytes: Int64, facts: AttemptFacts = AttemptFacts())
    {
        self.fence = fence
        self.attemptName = attemptName
        self.digest = digest
        self.bytes = bytes
        self.facts = facts
    }
}
