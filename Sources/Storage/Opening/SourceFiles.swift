public import Conversion

/// The files of a conversion, opened for reading, in the order of its recipe. They are closed when the value is dropped.
public final class SourceFiles: Sendable {
    private let files: [File]

    private final class File: Sendable {
        let file: SourceFile

        init(_ file: consuming SourceFile) { self.file = file }
    }

    private init(_ files: [File]) { self.files = files }

    /// Opens each of `places` with `open`.
    public static func opening<Place>(
        _ places: [Place],
        _ open: (Place) throws(StorageError) -> SourceFile
    ) throws(StorageError) -> SourceFiles {
        var files: [File] = []
        for place in places { files.append(File(try open(place))) }
        return SourceFiles(files)
    }

    /// Callers may use them but must not close them.
    public var descriptors: [Int32] { files.map { $0.file.descriptor } }
    public var identities: [FileIdentity] { files.map { $0.file.identity } }
    /// Those of the regular files.
    public var permissions: [FilePermissions] { files.compactMap { $0.file.permissions } }
    /// The size of each; meaningless for pipes and devices.
    public var byteCounts: [Int64] { files.map { $0.file.byteCount } }
    /// When the contents of each last changed, in nanoseconds since 1970.
    public var modificationTimes: [Int64] { files.map { $0.file.modifiedAt } }
    /// Whether each still has the size and the modification time that it had when it was opened; pipes and devices have
    /// none. Blocks.
    public var areUnchanged: Bool {
        files.allSatisfy { file in
            guard file.file.kind == .file else { return true }
            guard let now = FileFacts.of(file.file.descriptor) else { return false }
            return now.byteCount == file.file.byteCount && now.modifiedAt == file.file.modifiedAt
        }
    }
}

extension Failure {
    /// Of a conversion or a scan that read files which changed meanwhile; `other` is what their contents have led to.
    public static func sourceChanged(_ other: Failure? = nil) -> Failure {
        let then = other.map { " (\($0.code): \($0.message))" } ?? ""
        return Failure(.sourceChanged, at: .decode, "the source was changed while it was read\(then)")
    }
}
