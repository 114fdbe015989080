/// A file system that is no longer mounted on a worker's machine. Jobs whose files lie there wait.
public struct MissingFileSystem: Sendable, Hashable, Codable {
    /// Where it was mounted.
    public var mountPoint: String
    /// `ext4 of /dev/sdb1`
    public var name: String
    /// How long jobs had waited for it when the worker sent the report.
    public var seconds: Double

    public init(mountPoint: String, name: String, seconds: Double) {
        (self.mountPoint, self.name, self.seconds) = (mountPoint, name, seconds)
    }
}
