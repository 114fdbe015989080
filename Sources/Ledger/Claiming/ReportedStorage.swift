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

extension FullFileSystem: LedgerRecord {
    package static var blank: FullFileSystem { FullFileSystem(mountPoint: "", freeBytes: 0, seconds: 0) }

    package static let fields: [RecordField<FullFileSystem>] = [
        .always("mountPoint", \.mountPoint, .text, "its path on the worker's machine"),
        .always("freeBytes", \.freeBytes, .size, "what is free"),
        .always("seconds", \.seconds, .number, "how long it had been full at the last heartbeat"),
    ]
}

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

extension MissingFileSystem: LedgerRecord {
    package static var blank: MissingFileSystem { MissingFileSystem(mountPoint: "", name: "", seconds: 0) }

    package static let fields: [RecordField<MissingFileSystem>] = [
        .always("mountPoint", \.mountPoint, .text, "where it was mounted"),
        .always("name", \.name, .text, "its type and device"),
        .always("seconds", \.seconds, .number, "how long jobs had waited for it at the last heartbeat"),
    ]
}

/// A root to which the user of a worker may not write. Jobs that were denied there wait.
public struct UnwritableRoot: Sendable, Hashable, Codable {
    public var name: String
    /// The path on the worker's machine.
    public var path: String
    /// `permission_denied: permission denied`
    public var reason: String
    /// How long jobs had waited for it when the worker sent the report.
    public var seconds: Double

    public init(name: String, path: String, reason: String, seconds: Double) {
        (self.name, self.path, self.reason, self.seconds) = (name, path, reason, seconds)
    }
}

extension UnwritableRoot: LedgerRecord {
    package static var blank: UnwritableRoot { UnwritableRoot(name: "", path: "", reason: "", seconds: 0) }

    package static let fields: [RecordField<UnwritableRoot>] = [
        .always("name", \.name, .text, "its name"),
        .always("path", \.path, .text, "its path on the worker's machine"),
        .always("reason", \.reason, .text, "a code, and what the system said"),
        .always("seconds", \.seconds, .number, "how long jobs had waited for it at the last heartbeat"),
    ]
}
