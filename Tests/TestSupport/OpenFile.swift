import Glibc

/// An open file, closed when the value is dropped.
public struct OpenFile: ~Copyable, Sendable {
    /// For callers to use while this value lives. They must not close it.
    public let descriptor: Int32

    /// Takes ownership of `descriptor`; the caller must not close it.
    public init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens an existing file for reading.
    public static func reading(_ path: String) throws -> OpenFile {
        try opened(path, O_RDONLY, "open \(path) for reading")
    }

    /// Creates or empties a file, for reading and writing.
    public static func creating(_ path: String) throws -> OpenFile {
        try opened(path, O_RDWR | O_CREAT | O_TRUNC, "create \(path)")
    }

    /// Opens an existing file for reading and writing, its content untouched.
    public static func changing(_ path: String) throws -> OpenFile {
        try opened(path, O_RDWR, "open \(path) for writing")
    }

    /// Gives up ownership: the caller must close the descriptor.
    public consuming func release() -> Int32 {
        let released = descriptor
        discard self
        return released
    }

    private static func opened(_ path: String, _ flags: Int32, _ operation: String) throws -> OpenFile {
        let descriptor = open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SupportError(operation, errno: errno) }
        return OpenFile(adopting: descriptor)
    }
}
