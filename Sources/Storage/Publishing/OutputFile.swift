public import Conversion
import Glibc

/// A file being written that appears under its final name whole or not at all.
///
/// If dropped before it is published, it leaves nothing at the destination. A killed process leaves nothing either
/// if the file system has unnamed files (O_TMPFILE: ext4, XFS, Btrfs, tmpfs). On other file systems, and during the
/// instant in which a file is replaced, a hidden `.NAME.sluice-1.part` may stay; the next output to the same
/// destination removes it.
public struct OutputFile: ~Copyable {
    let file: UnfinishedFile
    let policy: Recipe.ConflictPolicy

    /// Empty at first, readable and writable. Callers may use it but must not close it.
    public var descriptor: Int32 { file.descriptor }

    /// Whether the file has no name until it is published, so that a kill leaves nothing.
    public var isUnnamed: Bool { file.hiddenName == nil }

    /// The state of a destination before any work.
    public enum Preparation: ~Copyable {
        case ready(OutputFile)
        /// The destination exists and the policy is to leave it.
        case skipped
    }

    /// The result of publishing.
    public enum Outcome: String, Sendable, Hashable {
        case published
        /// The destination came into existence meanwhile, and the policy is to leave it.
        case skipped
    }

    /// Opens a file in the folder of `path`, after checking everything that would stop it later.
    ///
    /// Follows links: a link at the destination stays, and its target is replaced. `sources` identifies the source
    /// files, which are never replaced, whatever names lead to them. `mode` decides who may read the output.
    public static func prepare(
        at path: String,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity] = [],
        mode: OutputMode = .withinSources([])
    ) throws(StorageError) -> Preparation {
        try prepare(at: path, onConflict: policy, sources: sources, mode: mode, mustBeHidden: false)
    }

    /// The same; `mustBeHidden` works without unnamed files, as some file systems require.
    package static func prepare(
        at path: String,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity] = [],
        mode: OutputMode = .withinSources([]),
        mustBeHidden: Bool
    ) throws(StorageError) -> Preparation {
        guard let place = try Self.place(of: path, onConflict: policy, sources) else { return .skipped }
        let folder = try Folder.open(place.folder)
        let file = try UnfinishedFile.create(
            in: folder,
            for: place.name,
            OutputAccess(mode: mode),
            mustBeHidden: mustBeHidden,
            sweeping: true
        )
        return .ready(OutputFile(file: file, policy: policy))
    }

    /// Throws what would stop `prepare`, as far as that is known without making a file.
    public static func check(
        _ path: String,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity] = []
    ) throws(StorageError) {
        guard let place = try Self.place(of: path, onConflict: policy, sources) else { return }
        let folder = try Folder.open(place.folder)
        guard faccessat(folder.descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
            throw StorageError(errno: errno, .destination, at: .open, "write to", place: path)
        }
    }

    /// The name that the output gets; `nil` if it exists and the policy is to leave it.
    private static func place(
        of path: String,
        onConflict policy: Recipe.ConflictPolicy,
        _ sources: [FileIdentity]
    ) throws(StorageError) -> DestinationPath? {
        var place = try DestinationPath(path)
        // The kernel follows the links, so that its rules for links in shared folders (fs.protected_symlinks) apply.
        if let present = FileFacts.of(path, followingLinks: true) {
            try refuse(present, sources, path)
            switch policy {
            case .fail: throw exists(path, at: .open)
            case .skip: return nil
            case .replace: place = try .followingLinks(path)
            }
        } else {
            guard errno == ENOENT else {
                throw StorageError(errno: errno, .destination, at: .open, "write to", place: path)
            }
            // A link whose target is missing still occupies the name.
            if FileFacts.of(path, followingLinks: false) != nil {
                switch policy {
                case .fail: throw exists(path, at: .open)
                case .skip: return nil
                case .replace: place = try .followingLinks(path)
                }
            }
        }
        return place
    }

    /// An output for `name` in `folder`, where `present` has that name. Links are not followed. With `mayExist`, an
    /// existing file is not refused here: publishing then compares its bytes. `sweeping` as for `UnfinishedFile`.
    static func prepare(
        in folder: Folder,
        _ name: String,
        present: FileFacts?,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity],
        access: OutputAccess,
        mustBeHidden: Bool,
        mayExist: Bool,
        sweeping: Bool
    ) throws(StorageError) -> Preparation {
        if let present {
            try refuse(present, sources, folder.path(of: name))
            switch policy {
            case .fail where mayExist: break
            case .fail: throw exists(folder.path(of: name), at: .open)
            case .skip: return .skipped
            case .replace: break
            }
        }
        let file = try UnfinishedFile.create(
            in: folder,
            for: name,
            access,
            mustBeHidden: mustBeHidden,
            sweeping: sweeping
        )
        return .ready(OutputFile(file: file, policy: policy))
    }

    /// Gives the finished file its final name.
    ///
    /// With `durably`, waits until file and name survive a power cut. Without it, waits only on file systems of
    /// other machines, which may still reject what was written. If this throws, it leaves no file, with one
    /// exception: if flushing the folder fails, the whole file stays, and a power cut may remove it.
    public consuming func publish(durably: Bool = true) throws(StorageError) -> Outcome {
        var set = OutputSet()
        set.add(self)
        return try set.publish(durably: durably)[0]
    }

    /// Length and SHA-256 of the bytes written.
    public func fingerprint() throws(StorageError) -> Fingerprint {
        if let fingerprint = Fingerprint.of(file.descriptor) { return fingerprint }
        let place = file.folder.path(of: file.name)
        throw StorageError(errno: errno, .destination, at: .publish, "read back", place: place)
    }

    /// Whether `seal` can detect writers. If not, a process that received the descriptor must end before the
    /// contents can be trusted.
    public var canBeSealed: Bool { file.canBeSealed }

    /// Closes the descriptor that the file was written with. Returns whether another process can still write to the
    /// file, by a duplicate or a mapping; `nil` if the file system cannot tell, and then the descriptor stays open.
    /// May be repeated.
    ///
    /// Afterwards `descriptor` is a different, read-only one.
    public func seal() -> Bool? { file.seal() }

    /// The size of the file and whether it has holes.
    public func written() throws(StorageError) -> WrittenBytes {
        if let written = WrittenBytes.of(file.descriptor, on: file.folder.kind) { return written }
        let place = file.folder.path(of: file.name)
        throw StorageError(errno: errno, .destination, at: .publish, "inspect", place: place)
    }

    /// Discards the file at once; throws if a hidden file cannot be removed.
    public consuming func discard() throws(StorageError) { try file.discard() }

    private static func refuse(
        _ present: FileFacts,
        _ sources: [FileIdentity],
        _ path: String
    ) throws(StorageError) {
        if sources.contains(present.identity) {
            throw StorageError(
                .destinationIsSource,
                at: .open,
                "write to",
                sources.count == 1 ? "it is the source" : "it is one of the sources",
                place: path
            )
        }
        if present.kind != .file { throw notAFile(present.kind, path, at: .open) }
    }

    private static func notAFile(_ kind: FileKind, _ path: String, at stage: Failure.Stage) -> StorageError {
        StorageError(.notAFile, at: stage, "write to", "it is a \(kind.rawValue)", place: path)
    }

    /// Checks again for anything that appeared meanwhile: a rename would replace a device as well.
    static func refuseOthersThanFiles(_ file: UnfinishedFile) throws(StorageError) {
        guard let present = try file.folder.facts(of: file.name, at: .publish), present.kind != .file else { return }
        throw notAFile(present.kind, file.folder.path(of: file.name), at: .publish)
    }

    /// The name of a finished file is taken.
    static func exists(_ file: UnfinishedFile) -> StorageError {
        exists(file.folder.path(of: file.name), at: .publish)
    }

    private static func exists(_ path: String, at stage: Failure.Stage) -> StorageError {
        StorageError(.destinationExists, at: stage, "write to", "it already exists", place: path)
    }
}
