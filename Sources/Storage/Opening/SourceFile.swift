import Conversion
import Glibc
import System

/// A file opened for reading, closed when the value is dropped.
public struct SourceFile: ~Copyable, Sendable {
    /// Callers may use it but must not close it.
    public let descriptor: Int32
    public let identity: FileIdentity
    public let kind: FileKind
    /// Meaningless for pipes and devices.
    public let byteCount: Int64
    /// When the contents last changed, in nanoseconds since 1970.
    public let modifiedAt: Int64
    /// `nil` if this is not a regular file.
    public let permissions: FilePermissions?

    private init(adopting descriptor: consuming Descriptor, _ facts: FileFacts) {
        identity = facts.identity
        kind = facts.kind
        byteCount = facts.byteCount
        modifiedAt = facts.modifiedAt
        permissions = facts.kind == .file ? facts.permissions : nil
        self.descriptor = descriptor.release()
    }

    deinit { close(descriptor) }

    /// Opens the file at `path`, following links.
    ///
    /// Always refuses folders. Opens a pipe only if `allowed` contains it, and then waits for a writer.
    public static func open(
        _ path: String,
        allowing allowed: Set<FileKind> = [.file]
    ) throws(StorageError) -> SourceFile {
        try refuseInvalid(path)
        // Checked first: opening a pipe waits, and opening a device may have side effects.
        guard let seen = FileFacts.of(path, followingLinks: true) else { throw failure(errno, path) }
        try refuse(seen.kind, unlessIn: allowed, path)
        let wait = seen.kind == .file ? O_NONBLOCK : 0
        let opened = retryingInterrupts { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait, 0) }
        guard opened >= 0 else { throw failure(errno, path) }
        return try adopt(Descriptor(adopting: opened), allowed, path)
    }

    /// The process's standard input, of any kind except a folder.
    public static func standardInput() throws(StorageError) -> SourceFile {
        let copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw failure(errno, "standard input") }
        return try adopt(Descriptor(adopting: copy), Set(FileKind.allCases), "standard input")
    }

    /// Takes ownership of an opened source after a second check: the name may refer to another file by now.
    static func adopt(
        _ descriptor: consuming Descriptor,
        _ allowed: Set<FileKind>,
        _ place: String
    ) throws(StorageError) -> SourceFile {
        guard let facts = FileFacts.of(descriptor.number) else { throw failure(errno, place) }
        try refuse(facts.kind, unlessIn: allowed, place)
        return SourceFile(adopting: descriptor, facts)
    }

    private static func refuse(
        _ kind: FileKind,
        unlessIn allowed: Set<FileKind>,
        _ place: String
    ) throws(StorageError) {
        guard kind == .folder || !allowed.contains(kind) else { return }
        throw StorageError(.notAFile, at: .open, "open the source", "it is a \(kind.rawValue)", place: place)
    }

    private static func refuseInvalid(_ path: String) throws(StorageError) {
        guard let problem = pathProblem(path) else { return }
        throw StorageError(.invalidPath, at: .open, "open the source", problem, place: path)
    }

    private static func failure(_ number: Int32, _ place: String) -> StorageError {
        StorageError(errno: number, .source, at: .open, "open the source", place: place)
    }
}

/// Why `path` cannot be a path; `nil` if it can. C would stop at the first NUL and use another file.
func pathProblem(_ path: String) -> String? {
    if path.isEmpty { return "the path is empty" }
    return path.utf8.contains(0) ? "the path contains a NUL" : nil
}
