import CSystem
import Glibc

/// The extended attribute with which Sluice marks its outputs.
public enum Attribute {
    private static let name = "user.sluice"

    /// The value of the attribute, or `nil` if the file has none or its file system does not support extended
    /// attributes.
    public static func read(_ path: String) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = getxattr(path, name, &bytes, bytes.count)
        if count < 0, errno == ENODATA || errno == EOPNOTSUPP { return nil }
        guard count >= 0 else { throw SupportError("read the mark of \(path)", errno: errno) }
        return Array(bytes.prefix(count))
    }

    public static func write(_ bytes: [UInt8], to path: String) throws {
        guard setxattr(path, name, bytes, bytes.count, 0) == 0 else {
            throw SupportError("mark \(path)", errno: errno)
        }
    }
}

/// A file system without extended attributes: ramfs.
public enum Attributeless {
    /// A shell script that mounts a ramfs at `$0` and then executes its remaining arguments in the same mount
    /// namespace.
    public static let script = "mount -t ramfs ramfs \"$0\" && exec \"$@\""

    /// Whether this process may mount a ramfs.
    public static let isPossible: Bool = {
        // If no folder can be created, every other test fails and says so.
        guard let folder = try? TemporaryFolder.create(), (try? mount(at: folder.path)) != nil else { return false }
        unmount(folder.path)
        return true
    }()

    public static func mount(at path: String) throws {
        try Run.program("mount", ["-t", "ramfs", "ramfs", path]).checked()
    }

    public static func unmount(_ path: String) {
        // An unmount that fails does not matter: the test is over, and the mount goes when the machine shuts down.
        _ = try? Run.program("umount", ["--lazy", path])
    }
}
