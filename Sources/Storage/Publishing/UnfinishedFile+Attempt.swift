import Conversion
import Glibc
import System

extension UnfinishedFile {
    /// Gives the file the name of its attempt. The ledger then owns the file: dropping this value does not remove
    /// it.
    ///
    /// If a file with the same bytes has the name, an earlier call got that far, and that file is kept.
    func take(_ attempt: AttemptName, _ fingerprint: Fingerprint) throws(StorageError) {
        let hidden = attempt.fileName(for: name)
        if try takeFreeName(hidden) { return }
        guard try folder.holds(fingerprint, as: hidden) else {
            throw StorageError(
                .attemptConflict,
                at: .publish,
                "keep the attempt's file",
                "a different file has its name",
                place: folder.path(of: hidden)
            )
        }
        try discard()
    }

    /// Removes the attempt's name again: the ledger does not know of it yet.
    func forget(_ attempt: AttemptName) {
        do throws(StorageError) {
            try folder.remove(attempt.fileName(for: name))
        } catch {
            // A file that stays is referenced by no live fence in the ledger, so a sweep removes it.
        }
    }

    /// Whether this whole file was written, once the whole file system has been flushed; `nil` if only fsync can tell.
    ///
    /// syncfs reports for the file system. A write error of one file is recorded with that file, and waiting for writes
    /// that have finished costs nothing and reports it. It is reported only once: a later fsync would not see it.
    func lossAfterSyncfs() -> Result<Void, StorageError>? {
        if SystemCall.waitForWrites(of: descriptor) == 0 { return .success(()) }
        switch errno {
        case ENOSYS, EINVAL, ESPIPE, EOPNOTSUPP: return nil
        case let number:
            let place = folder.path(of: name)
            return .failure(StorageError(errno: number, .destination, at: .publish, "flush", place: place))
        }
    }
}

extension Folder {
    /// Whether `name` is a regular file with these bytes.
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
