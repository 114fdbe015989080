import Glibc
import System

/// The size of a file, and whether all of it was written.
public struct WrittenBytes: Sendable, Hashable {
    public let byteCount: Int64
    /// Whether some bytes were never written, and so take no space on the disk; false if the file system does not tell.
    public let hasHoles: Bool

    public init(byteCount: Int64, hasHoles: Bool) {
        self.byteCount = byteCount
        self.hasHoles = hasHoles
    }

    /// Moves the descriptor's offset. `kind` is that of the file system. `nil` with `errno` set if the file cannot be
    /// examined.
    static func of(_ descriptor: Int32, on kind: FileSystemKind) -> WrittenBytes? {
        guard let facts = FileFacts.of(descriptor) else { return nil }
        guard facts.byteCount > 0, kind.tellsHoles else {
            return WrittenBytes(byteCount: facts.byteCount, hasHoles: false)
        }
        // Every file has a hole at its end.
        let hole = lseek(descriptor, 0, SystemFlag.seekHole)
        return WrittenBytes(byteCount: facts.byteCount, hasHoles: hole >= 0 && hole < facts.byteCount)
    }
}
