/// A file system without room, as a worker sees it.
public struct FullFileSystem: Sendable, Hashable, Codable {
    /// On the worker's machine.
    public var mountPoint: String
    public var freeBytes: Int64
    /// For how long it had been so when the worker said it.
    public var seconds: Double

    public init(mountPoint: String, freeBytes: Int64, seconds: Double) {
        (self.mountPoint, self.freeBytes, self.seconds) = (mountPoint, freeBytes, seconds)
    }
}
