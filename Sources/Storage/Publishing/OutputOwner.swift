import Conversion
import Glibc
import System

/// Who made the file that has a job's final name.
public enum OutputOwner: Sendable, Hashable {
    /// The job itself made it, from the same recipe and source, and the file is complete.
    case job(Fingerprint)
    /// Only the bytes can tell: the job must make its output again and compare.
    case unknown
    /// Another job or program made it, or it has changed since the job made it.
    case other
}

extension StorageRoot {
    /// Finds out who made the file at `location`, for the job of `attempt`, whose recipe and source `work` stands
    /// for. Reads the whole file if its mark is the job's own. Blocks.
    ///
    /// `unknown` if there is no file, if the file system keeps no marks, or if the mark cannot be trusted: it names
    /// the job, but another recipe or source, or the file belongs to another user than this process, who may have
    /// copied the mark.
    public func owner(
        of location: Location,
        for attempt: AttemptName,
        madeOf work: UInt64
    ) throws(StorageError) -> OutputOwner {
        let folder = try folder(of: location, at: .open)
        guard let seen = try folder.facts(of: location.name, at: .open) else { return .unknown }
        return try folder.owner(of: location.name, seen, for: attempt, madeOf: work)
    }
}

extension Folder {
    /// Who made the file `name`, which was `seen` here.
    func owner(
        of name: String,
        _ seen: FileFacts,
        for attempt: AttemptName,
        madeOf work: UInt64
    ) throws(StorageError) -> OutputOwner {
        // Opening a device may have side effects, so the type is checked first; O_NOFOLLOW refuses links.
        guard seen.kind == .file, seen.linkCount == 1 else { return .other }
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let opened = retryingInterrupts { openat(descriptor, name, flags, 0) }
        if opened < 0, errno == ENOENT { return .unknown }
        // A file that this worker cannot read is not one that it wrote.
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
                    "read the existing file",
                    place: path(of: name)
                )
            }
            return found == mark.fingerprint ? .job(found) : .other
        }
    }
}
