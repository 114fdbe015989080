import Glibc

/// A file opened for reading, closed when the value is dropped.
public struct SourceFile: ~Copyable {
    /// Lent to callers: only this owner closes it.
    public let descriptor: Int32
    public let identity: FileIdentity
    public let kind: FileKind
    /// Means nothing for pipes and devices.
    public let byteCount: Int64
    /// When its content last changed, in nanoseconds since 1970.
    public let modifiedAt: Int64
    /// `nil` for what is no file.
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

    /// Opens what is at `path`, through links.
    ///
    /// Folders are always refused. A pipe is opened only if `allowed` has it, and then waits for a writer.
    public static func open(
        _ path: String,
        allowing allowed: Set<FileKind> = [.file]
    ) throws(StorageError) -> SourceFile {
        try refuseInvalid(path)
        // Looked at first: opening a pipe waits, and opening a device may do something.
        guard let seen = FileFacts.of(path, followingLinks: true) else { throw failure(errno, path) }
        try refuse(seen.kind, unlessIn: allowed, path)
        let wait = seen.kind == .file ? O_NONBLOCK : 0
        let opened = retryingInterrupts { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait, 0) }
        guard opened >= 0 else { throw failure(errno, path) }
        return try adopt(Descriptor(adopting: opened), allowed, path)
    }

    /// What the process was given as standard input, of whatever kind but a folder.
    public static func standardInput() throws(StorageError) -> SourceFile {
        let copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw failure(errno, "standard input") }
        return try adopt(Descriptor(adopting: copy), Set(FileKind.allCases), "standard input")
    }

    /// Takes an opened source over after a second look: the name may have changed its meaning between two calls.
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

/// Why no path can be `path`, or `nil`. C would end at the first NUL and mean another file.
func pathProblem(_ path: String) -> String? {
    if path.isEmpty { return "the path is empty" }
    return path.utf8.contains(0) ? "the path contains a NUL" : nil
}
