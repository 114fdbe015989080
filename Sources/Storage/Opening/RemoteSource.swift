/// A source that is no file of this machine, beside those that are. It is closed with its last reference.
public protocol RemoteSource: Sendable {
    /// Stands for the source among the descriptors of files.
    var descriptor: Int32 { get }
    var byteCount: Int64 { get }
    /// When the contents last changed, in nanoseconds since 1970; 0 if nothing tells it.
    var modifiedAt: Int64 { get }
    /// What differs between any two contents of the source.
    var version: String { get }
    /// Whether it is what it was when it was opened. Blocks.
    var isUnchanged: Bool { get }
}
