/// A full file system, as a worker reports it.
public struct FullFileSystem: Sendable, Hashable, Codable {
    /// The path on the worker's machine.
    public var mountPoint: String
    public var freeBytes: Int64
    /// How long the file system had been full when the worker sent the report.
    public var seconds: Double

    public init(mountPoint: String, freeBytes: Int64, seconds: Double) {
        (self.mountPoint, self.freeBytes, self.seconds) = (mountPoint, freeBytes, seconds)
    }
}
