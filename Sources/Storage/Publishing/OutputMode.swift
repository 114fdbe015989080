import Conversion
import Glibc

/// The permissions and the group of a file.
public struct FilePermissions: Sendable, Hashable {
    let mode: UInt32
    let group: UInt32

    /// The most that an output made from a file with these permissions may have.
    fileprivate func limit(on output: FilePermissions) -> UInt32 {
        let (ofGroup, ofOthers) = (mode >> 3 & 0o7, mode & 0o7)
        guard group != output.group else { return 0o700 | ofGroup << 3 | ofOthers }
        // The output's group are strangers to the source, and members of the source's group may be among the others.
        return 0o700 | ofOthers << 3 | (ofGroup & ofOthers)
    }
}

/// How an output's permissions are chosen.
public enum OutputMode: Sendable, Hashable {
    /// Those that the umask leaves, limited to those of every source. A pipe sets no limit.
    case withinSources([FilePermissions])
    /// Exactly these, whatever the umask is.
    case fixed(UInt32)

    /// The permissions of an output that the kernel created with `created`.
    func permissions(_ created: FilePermissions) -> UInt32 {
        let usual = created.mode & 0o777
        switch self {
        case .fixed(let mode): return mode
        case .withinSources(let sources): return sources.reduce(usual) { $0 & $1.limit(on: created) }
        }
    }
}

extension UnfinishedFile {
    /// Sets an output's permissions before anything is written to it.
    func permit(_ mode: OutputMode) throws(StorageError) {
        guard let facts = FileFacts.of(descriptor) else { throw cannotPermit(errno) }
        let wanted = mode.permissions(facts.permissions)
        guard wanted != facts.permissions.mode & 0o777, fchmod(descriptor, wanted) != 0 else { return }
        let number = errno
        switch (number, mode) {
        // The file system has no permissions for single files (FAT, some network mounts): its mount options decide.
        case (EPERM, .withinSources), (ENOTSUP, .withinSources), (ENOSYS, .withinSources): return
        default: throw cannotPermit(number)
        }
    }

    private func cannotPermit(_ number: Int32) -> StorageError {
        StorageError(errno: number, .destination, at: .open, "set the permissions of", place: folder.path(of: name))
    }
}
