import Conversion
import Glibc

/// The permissions and the group of a file.
public struct FilePermissions: Sendable, Hashable {
    let mode: UInt32
    let group: UInt32
}

/// How an output's permissions are chosen.
public enum OutputMode: Sendable, Hashable {
    /// Those that the umask leaves, limited to those of the source. `nil` stands for a pipe, which sets no limit.
    case withinSource(FilePermissions?)
    /// Exactly these, whatever the umask is.
    case fixed(UInt32)

    /// The permissions of an output that the kernel created with `created`.
    func permissions(_ created: FilePermissions) -> UInt32 {
        let usual = created.mode & 0o777
        switch self {
        case .fixed(let mode): return mode
        case .withinSource(nil): return usual
        case .withinSource(let source?):
            let (group, others) = (source.mode >> 3 & 0o7, source.mode & 0o7)
            guard source.group != created.group else { return usual & (0o700 | group << 3 | others) }
            // The output's group are strangers to the source, and members of the source's group may be among the
            // others.
            return usual & (0o700 | others << 3 | (group & others))
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
        case (EPERM, .withinSource), (ENOTSUP, .withinSource), (ENOSYS, .withinSource): return
        default: throw cannotPermit(number)
        }
    }

    private func cannotPermit(_ number: Int32) -> StorageError {
        StorageError(errno: number, .destination, at: .open, "set the permissions of", place: folder.path(of: name))
    }
}
