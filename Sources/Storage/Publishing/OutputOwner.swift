import Glibc

/// Whose file it is that has a job's final name.
public enum OutputOwner: Sendable, Hashable {
    /// The job's own, made of the same recipe and source, and whole.
    case job(Fingerprint)
    /// Only the bytes can tell: the job's output has to be made again and compared.
    case unknown
    /// Not the job's, or no longer what the job made.
    case other
}

extension StorageRoot {
    /// Whose file is at `location`, as seen by the job of `attempt`, which makes its output of `work`. Reads the file if it is
    /// marked as the job's own. Blocks.
    ///
    /// `unknown` without a file, and where the file system keeps no marks or the mark cannot be trusted: it names the job, but
    /// another recipe or source, or another user than this one owns the file and may have copied the mark.
    public func owner(
        of location: Location,
        for attempt: AttemptName,
        madeOf work: UInt64
    ) throws(StorageError) -> OutputOwner {
        let folder = try folder(of: location, at: .open)
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        // Opening a device may do something, so the kind is looked at first; O_NOFOLLOW refuses links.
        guard let seen = try folder.facts(of: location.name, at: .open) else { return .unknown }
        guard seen.kind == .file, seen.linkCount == 1 else { return .other }
        let opened = retryingInterrupts { openat(folder.descriptor, location.name, flags, 0) }
        if opened < 0, errno == ENOENT { return .unknown }
        // What this worker cannot read it did not write.
        guard opened >= 0 else { return .other }
        let file = Descriptor(adopting: opened)
        guard let facts = FileFacts.of(file.number), facts.identity == seen.identity else { return .other }
        switch OutputMark.read(from: file.number) {
        case .unsupported: return .unknown
        case .none: return .other
        case .mark(let mark):
            guard mark.ledger == attempt.ledger, mark.job == attempt.job,
                mark.fingerprint.byteCount == facts.byteCount
            else { return .other }
            guard mark.work == work, facts.owner == geteuid() else { return .unknown }
            guard let found = Fingerprint.of(file.number) else {
                throw StorageError(
                    errno: errno,
                    .destination,
                    at: .open,
                    "read what is there",
                    place: folder.path(of: location.name)
                )
            }
            return found == mark.fingerprint ? .job(found) : .other
        }
    }
}
