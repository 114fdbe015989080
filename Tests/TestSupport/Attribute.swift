import Glibc

/// The extended attribute in which outputs are marked.
public enum Attribute {
    private static let name = "user.sluice"

    /// `nil` if a file has none, or its file system keeps none.
    public static func read(_ path: String) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = GNUFunctions.getxattr(path, name, &bytes, bytes.count)
        if count < 0, errno == ENODATA || errno == EOPNOTSUPP { return nil }
        guard count >= 0 else { throw SupportError("read the mark of \(path)", errno: errno) }
        return Array(bytes.prefix(count))
    }

    public static func write(_ bytes: [UInt8], to path: String) throws {
        guard GNUFunctions.setxattr(path, name, bytes, bytes.count, 0) == 0 else {
            throw SupportError("mark \(path)", errno: errno)
        }
    }
}

/// A file system that keeps no extended attributes.
public enum Attributeless {
    /// Words that mount one at `$0` in a namespace of the words after them.
    public static let script = "mount -t ramfs ramfs \"$0\" && exec \"$@\""

    /// Whether one can be mounted where this process sees it.
    public static let isPossible: Bool = {
        // Where no folder can be made, all other tests say so.
        guard let folder = try? TemporaryFolder.create(), (try? mount(at: folder.path)) != nil else { return false }
        unmount(folder.path)
        return true
    }()

    public static func mount(at path: String) throws {
        try Run.program("mount", ["-t", "ramfs", "ramfs", path]).checked()
    }

    public static func unmount(_ path: String) {
        // What stays is gone with the machine; the test has said what it had to say.
        _ = try? Run.program("umount", ["--lazy", path])
    }
}
