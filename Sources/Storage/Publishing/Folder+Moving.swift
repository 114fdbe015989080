import Conversion
import Glibc
import System

extension Folder {
    /// Renames `old` to `new`, replacing any file of that name.
    func move(_ old: String, over new: String) throws(StorageError) {
        guard renameat(descriptor, old, descriptor, new) != 0 else { return }
        throw StorageError(errno: errno, .destination, at: .publish, "publish", place: path(of: new))
    }

    /// Renames `old` to `new` unless `new` exists; returns whether it did so.
    func move(_ old: String, toFree new: String) throws(StorageError) -> Bool {
        if SystemCall.renameKeepingOthers(old, in: descriptor, to: new, in: descriptor) == 0 { return true }
        switch errno {
        case EEXIST: return try finish(old, as: new)
        // The file system (NFS, much of FUSE) or the kernel does not support this rename.
        case EINVAL, ENOSYS, EOPNOTSUPP: return try relink(old, toFree: new)
        case let number: throw cannotPublish(number, new)
        }
    }

    /// The same in two steps, for file systems that can link but cannot rename without replacing.
    private func relink(_ old: String, toFree new: String) throws(StorageError) -> Bool {
        if linkat(descriptor, old, descriptor, new, 0) != 0 {
            let number = errno
            switch number {
            case EEXIST: return try finish(old, as: new)
            case EPERM, EOPNOTSUPP, ENOSYS, EINVAL, EMLINK:
                throw StorageError(
                    .unsupportedDestination,
                    at: .publish,
                    "publish",
                    "its file system cannot rename a file without the risk of replacing another",
                    place: path(of: new)
                )
            default: throw cannotPublish(number, new)
            }
        }
        try remove(old)
        return true
    }

    /// Removes `old` if `new` is the same file, and returns whether it is.
    ///
    /// That happens after a kill between linking and removing, and when NFS loses its reply and repeats the request.
    private func finish(_ old: String, as new: String) throws(StorageError) -> Bool {
        guard let present = try facts(of: new, at: .publish),
            try facts(of: old, at: .publish)?.identity == present.identity
        else { return false }
        try remove(old)
        return true
    }

    private func cannotPublish(_ number: Int32, _ name: String) -> StorageError {
        StorageError(errno: number, .destination, at: .publish, "publish", place: path(of: name))
    }
}
