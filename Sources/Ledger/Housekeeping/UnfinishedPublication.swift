public import Conversion
public import FoundationEssentials

/// A job that is publishing for too long, to be finished by the process that was handed it.
///
/// Rename what is still to be renamed, then `finish` with the fence; if that is impossible, `fail` with it.
public struct UnfinishedPublication: Sendable, Hashable {
    public var fence: Fence
    public var recipe: Recipe
    public var attemptName: String
    /// SHA-256 of the output in hexadecimal.
    public var digest: String
    public var bytes: Int64
    public var since: Date
}
