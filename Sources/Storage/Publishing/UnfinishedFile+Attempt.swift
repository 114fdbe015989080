import Glibc

extension UnfinishedFile {
    /// Gives it the name of its attempt. It then has an owner in the ledger, and is not removed with this value.
    ///
    /// If the name is taken by the same bytes, an earlier call got as far, and its file does.
    func take(_ attempt: AttemptName, _ fingerprint: Fingerprint) throws(StorageError) {
        let hidden = attempt.fileName(for: name)
        if try takeFreeName(hidden) { return }
        guard try folder.holds(fingerprint, as: hidden) else {
            throw StorageError(
                .attemptConflict,
                at: .publish,
                "keep the attempt's file",
                "there is another with its name",
                place: folder.path(of: hidden)
            )
        }
        try discard()
    }

    /// Takes the attempt's name away again: the ledger does not know of it yet.
    func forget(_ attempt: AttemptName) {
        do throws(StorageError) {
            try folder.remove(attempt.fileName(for: name))
        } catch {
            // What stays has no fence in the ledger that stands, and is swept.
        }
    }

    /// Whether all of this file was written, once the whole file system has been flushed; `nil` if only fsync can tell.
    ///
    /// syncfs speaks for the file system. What it could not write of one file is noted with that file, and waiting for
    /// writes that are over costs nothing and tells. It tells once: fsync would then know of nothing.
    func lossAfterSyncfs() -> Result<Void, StorageError>? {
        if GNUFunctions.syncFileRange(descriptor, 0, 0, KernelFlag.waitBefore) == 0 { return .success(()) }
        switch errno {
        case ENOSYS, EINVAL, ESPIPE, EOPNOTSUPP: return nil
        case let number:
            let place = folder.path(of: name)
            return .failure(StorageError(errno: number, .destination, at: .publish, "flush", place: place))
        }
    }
}

extension Folder {
    /// Whether `name` is a file with these bytes.
    func holds(_ fingerprint: Fingerprint, as name: String) throws(StorageError) -> Bool {
        guard let facts = try facts(of: name, at: .publish), facts.kind == .file,
            facts.byteCount == fingerprint.byteCount
        else { return false }
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let opened = retryingInterrupts { openat(descriptor, name, flags, 0) }
        if opened < 0, errno == ENOENT { return false }
        guard opened >= 0 else { throw cannotCompare(errno, name) }
        let file = Descriptor(adopting: opened)
        guard let found = Fingerprint.of(file.number) else { throw cannotCompare(errno, name) }
        return found == fingerprint
    }

    private func cannotCompare(_ number: Int32, _ name: String) -> StorageError {
        StorageError(errno: number, .destination, at: .publish, "compare", place: path(of: name))
    }

    /// Makes the names in this folder survive a power cut; `name` is a file in it.
    func flush(holding name: String) throws(StorageError) {
        if isReadable { return try flush(with: descriptor) }
        let opened = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
        guard opened >= 0 else {
            throw StorageError(errno: errno, .destination, at: .publish, "flush the folder", place: path)
        }
        let file = Descriptor(adopting: opened)
        try flush(with: file.number)
    }
}
