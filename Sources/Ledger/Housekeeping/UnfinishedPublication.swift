public import Conversion
public import FoundationEssentials

/// A job that has been publishing for too long. The process that receives it finishes it.
///
/// That process renames the remaining files, then calls `finish` with the fence; if that is impossible, it calls
/// `fail`.
public struct UnfinishedPublication: Sendable, Hashable {
    public var fence: Fence
    public var recipe: Recipe
    public var attemptName: String
    /// The first output.
    public var file: PublishedFile
    /// As in `Publication`.
    public var further: [PublishedFile?]
    public var since: Date
}
