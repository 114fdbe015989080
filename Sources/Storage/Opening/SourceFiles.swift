public import Conversion

/// The files of a conversion, opened for reading, in the order of its recipe. They are closed when the value is dropped.
public final class SourceFiles: Sendable {
    private let entries: [Entry]

    private final class File: Sendable {
        let file: SourceFile

        init(_ file: consuming SourceFile) { self.file = file }
    }

    private enum Entry: Sendable {
        case file(File)
        case remote(any RemoteSource)
    }

    private init(_ entries: [Entry]) { self.entries = entries }

    /// Opens each of `places` with `open`.
    public static func opening<Place>(
        _ places: [Place],
        _ open: (Place) throws(StorageError) -> SourceFile
    ) throws(StorageError) -> SourceFiles {
        try opening(places, remote: { _ in nil }, open)
    }

    /// The same where some of the places are no files of this machine. `remote` opens these, and returns `nil` for files.
    public static func opening<Place>(
        _ places: [Place],
        remote: (Place) throws(StorageError) -> (any RemoteSource)?,
        _ open: (Place) throws(StorageError) -> SourceFile
    ) throws(StorageError) -> SourceFiles {
        var entries: [Entry] = []
        for place in places {
            if let source = try remote(place) {
                entries.append(.remote(source))
            } else {
                entries.append(.file(File(try open(place))))
            }
        }
        return SourceFiles(entries)
    }

    private var files: [File] { entries.compactMap { if case .file(let file) = $0 { file } else { nil } } }

    /// Those that are no files, by their places.
    public var remotes: [Int: any RemoteSource] {
        let found = entries.enumerated().compactMap { place, entry in
            if case .remote(let source) = entry { (place, source) } else { nil }
        }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// Callers may use them but must not close them.
    public var descriptors: [Int32] { values({ $0.file.descriptor }, { $0.descriptor }) }
    /// Those of the files.
    public var identities: [FileIdentity] { files.map { $0.file.identity } }
    /// Those of the regular files.
    public var permissions: [FilePermissions] { files.compactMap { $0.file.permissions } }
    /// The size of each; meaningless for pipes and devices.
    public var byteCounts: [Int64] { values({ $0.file.byteCount }, { $0.byteCount }) }
    /// When the contents of each last changed, in nanoseconds since 1970.
    public var modificationTimes: [Int64] { values({ $0.file.modifiedAt }, { $0.modifiedAt }) }
    /// Whether each still has the size and the modification time that it had when it was opened; pipes and devices have
    /// none. Blocks.
    public var areUnchanged: Bool {
        // A store that does not answer is asked about one source only.
        entries.allSatisfy { entry in
            switch entry {
            case .file(let file): Self.isUnchanged(file)
            case .remote(let source): source.isUnchanged
            }
        }
    }

    private static func isUnchanged(_ file: File) -> Bool {
        guard file.file.kind == .file else { return true }
        guard let now = FileFacts.of(file.file.descriptor) else { return false }
        return now.byteCount == file.file.byteCount && now.modifiedAt == file.file.modifiedAt
    }

    private func values<Value>(_ ofFile: (File) -> Value, _ ofRemote: (any RemoteSource) -> Value) -> [Value] {
        entries.map { entry in
            switch entry {
            case .file(let file): ofFile(file)
            case .remote(let source): ofRemote(source)
            }
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
