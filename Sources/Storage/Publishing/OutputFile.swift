public import Conversion
import Glibc

/// A file in writing that becomes visible under its final name whole, or not at all.
///
/// Dropped before it is published, it leaves nothing at the destination. Of a killed process nothing is left either where
/// the file system has unnamed files (O_TMPFILE: ext4, XFS, Btrfs, tmpfs); elsewhere, and in the instant of replacing a file,
/// a hidden `.NAME.sluice-1.part` may stay, which the next output to the same destination removes.
public struct OutputFile: ~Copyable {
    let file: UnfinishedFile
    private let policy: Recipe.ConflictPolicy

    /// Empty at first, readable and writable. Lent to callers: only this owner closes it.
    public var descriptor: Int32 { file.descriptor }

    /// Whether it has no name before it is published, so that nothing can be left of it.
    public var isUnnamed: Bool { file.hiddenName == nil }

    /// What was found at a destination before any work.
    public enum Preparation: ~Copyable {
        case ready(OutputFile)
        /// The destination exists and the policy is to leave it.
        case skipped
    }

    /// How publishing ended.
    public enum Outcome: String, Sendable, Hashable {
        case published
        /// The destination came to exist meanwhile and the policy is to leave it.
        case skipped
    }

    /// Opens a file in the folder of `path` after looking at all that would stop it later.
    ///
    /// Links are followed: a link as destination stays, and what it leads to is replaced. `source` is the file that is
    /// read and must not be replaced, by whatever name; `mode` says who may read the output.
    public static func prepare(
        at path: String,
        onConflict policy: Recipe.ConflictPolicy,
        source: FileIdentity? = nil,
        mode: OutputMode = .withinSource(nil)
    ) throws(StorageError) -> Preparation {
        try prepare(at: path, onConflict: policy, source: source, mode: mode, mustBeHidden: false)
    }

    /// The same; `mustBeHidden` does without unnamed files, as some file systems have to.
    package static func prepare(
        at path: String,
        onConflict policy: Recipe.ConflictPolicy,
        source: FileIdentity? = nil,
        mode: OutputMode = .withinSource(nil),
        mustBeHidden: Bool
    ) throws(StorageError) -> Preparation {
        var place = try DestinationPath(path)
        // The kernel follows, so that its rules for links in shared folders (fs.protected_symlinks) hold here too.
        if let present = FileFacts.of(path, followingLinks: true) {
            try refuse(present, source, path)
            switch policy {
            case .fail: throw exists(path, at: .open)
            case .skip: return .skipped
            case .replace: place = try .followingLinks(path)
            }
        } else {
            guard errno == ENOENT else {
                throw StorageError(errno: errno, .destination, at: .open, "write to", place: path)
            }
            // A link to nothing takes the name all the same.
            if FileFacts.of(path, followingLinks: false) != nil {
                switch policy {
                case .fail: throw exists(path, at: .open)
                case .skip: return .skipped
                case .replace: place = try .followingLinks(path)
                }
            }
        }
        let folder = try Folder.open(place.folder)
        let file = try UnfinishedFile.create(in: folder, for: place.name, mustBeHidden: mustBeHidden)
        try file.permit(mode)
        return .ready(OutputFile(file: file, policy: policy))
    }

    /// An output for `name` in `folder`, where links are not followed. `mayExist` leaves it to publishing to find out whether what
    /// has the name has the same bytes.
    static func prepare(
        in folder: Folder,
        _ name: String,
        onConflict policy: Recipe.ConflictPolicy,
        source: FileIdentity?,
        mode: OutputMode,
        mustBeHidden: Bool,
        mayExist: Bool = false
    ) throws(StorageError) -> Preparation {
        if let present = try folder.facts(of: name, at: .open) {
            try refuse(present, source, folder.path(of: name))
            switch policy {
            case .fail where mayExist: break
            case .fail: throw exists(folder.path(of: name), at: .open)
            case .skip: return .skipped
            case .replace: break
            }
        }
        let file = try UnfinishedFile.create(in: folder, for: name, mustBeHidden: mustBeHidden)
        try file.permit(mode)
        return .ready(OutputFile(file: file, policy: policy))
    }

    /// Gives the finished file its name.
    ///
    /// `durably` waits until file and name survive a power cut. Without it the wait is left out, except on file
    /// systems of other machines, which may still refuse what was written. Throws, and leaves nothing, if that fails;
    /// only after a failure to flush the folder is the whole file there, and may be gone after a power cut.
    public consuming func publish(durably: Bool = true) throws(StorageError) -> Outcome {
        if durably || !file.folder.isLocal { try file.flush() }
        switch policy {
        case .replace:
            // Whatever came to be there meanwhile: a rename would replace a device as well.
            if let present = try file.folder.facts(of: file.name, at: .publish), present.kind != .file {
                throw Self.notAFile(present.kind, file.folder.path(of: file.name), at: .publish)
            }
            try file.takeName()
        case .fail, .skip:
            guard try file.takeFreeName() else {
                try file.discard()
                if policy == .skip { return .skipped }
                throw Self.exists(file.folder.path(of: file.name), at: .publish)
            }
        }
        if durably { try file.folder.flush(with: file.descriptor) }
        return .published
    }

    /// Length and SHA-256 of what has been written.
    public func fingerprint() throws(StorageError) -> Fingerprint {
        if let fingerprint = Fingerprint.of(file.descriptor) { return fingerprint }
        let place = file.folder.path(of: file.name)
        throw StorageError(errno: errno, .destination, at: .publish, "read back", place: place)
    }

    /// Throws the file away now, and says so if something stays.
    public consuming func discard() throws(StorageError) { try file.discard() }

    private static func refuse(
        _ present: FileFacts,
        _ source: FileIdentity?,
        _ path: String
    ) throws(StorageError) {
        if present.identity == source {
            throw StorageError(.destinationIsSource, at: .open, "write to", "it is the source", place: path)
        }
        if present.kind != .file { throw notAFile(present.kind, path, at: .open) }
    }

    private static func notAFile(_ kind: FileKind, _ path: String, at stage: StorageError.Stage) -> StorageError {
        StorageError(.notAFile, at: stage, "write to", "it is a \(kind.rawValue)", place: path)
    }

    private static func exists(_ path: String, at stage: StorageError.Stage) -> StorageError {
        StorageError(.destinationExists, at: stage, "write to", "it exists already", place: path)
    }
}
