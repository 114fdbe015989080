import Glibc

extension Folder {
    /// Renames `old` to `new` over whatever has that name.
    func move(_ old: String, over new: String) throws(StorageError) {
        guard renameat(descriptor, old, descriptor, new) != 0 else { return }
        throw StorageError(errno: errno, .destination, at: .publish, "publish", place: path(of: new))
    }

    /// Renames `old` to `new` unless that is taken; returns whether it was free.
    func move(_ old: String, toFree new: String) throws(StorageError) -> Bool {
        if GNUFunctions.renameat2(descriptor, old, descriptor, new, KernelFlag.withoutClobbering) == 0 { return true }
        switch errno {
        case EEXIST: return try finish(old, as: new)
        // The file system (NFS, much of FUSE) or the kernel has no such rename.
        case EINVAL, ENOSYS, EOPNOTSUPP: return try relink(old, toFree: new)
        case let number: throw cannotPublish(number, new)
        }
    }

    /// The same in two steps, for file systems that link but cannot rename without clobbering.
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
                    "its file system cannot give a file a name without replacing another",
                    place: path(of: new)
                )
            default: throw cannotPublish(number, new)
            }
        }
        try remove(old)
        return true
    }

    /// Whether what is in the way is the same file under its new name, whose old name then goes.
    ///
    /// So it is where a run was killed between linking and removing, and where NFS lost its own answer and asked twice.
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
