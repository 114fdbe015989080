public import Conversion

/// A job whose output stands at its destination, or was skipped.
public struct FinishedJob: Sendable, Hashable {
    public var fence: Fence
    public var placement: Placement
    /// The placement of each output, for a job with several.
    public var each: [Placement]

    public init(_ fence: Fence, _ placement: Placement = .published, each: [Placement] = []) {
        self.fence = fence
        self.placement = placement
        self.each = each.count > 1 ? each : []
    }
}

/// How a finished job's destination got its content.
public enum Placement: String, Sendable, Hashable, Codable, CaseIterable {
    /// The output was renamed to its destination.
    case published
    /// The destination already had the same bytes.
    case adopted
    /// The destination has other content, which stays. The job has no output, and the ledger keeps no digest.
    case skipped
}
