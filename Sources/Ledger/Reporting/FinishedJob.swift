public import Conversion

/// A job whose output is where it was to be, or is not wanted there.
public struct FinishedJob: Sendable, Hashable {
    public var fence: Fence
    public var placement: Placement

    public init(_ fence: Fence, _ placement: Placement = .published) {
        self.fence = fence
        self.placement = placement
    }
}

/// How a finished job's output came to be where it was to be.
public enum Placement: String, Sendable, Hashable, Codable, CaseIterable {
    case published
    /// The same bytes were there already.
    case adopted
    /// Something else is there and stays: there is no output of this job, and the ledger keeps no digest of one.
    case skipped
}
