import Glibc

/// A file in writing, in its destination's folder: without a name, or under a hidden one where that is missing.
///
/// Dropped, it leaves nothing. A killed process leaves nothing either, or, under a hidden name, what the next run to the
/// same destination sweeps: every hidden file is locked (flock) by its writer, and the kernel gives the lock back
/// when the last descriptor is closed, however the process ended. So a hidden file whose lock can be had has no owner.
/// Process ids would not tell: containers share folders, but not their processes. Where other machines see the folder, locks
/// cannot be trusted (NFS may keep them local), so there nothing is swept and hidden names are random.
final class UnfinishedFile {
    /// Open to read and write; once it is sealed, to read alone.
    private(set) var descriptor: Int32
    /// Opened before anything was written, and the holder of the lock; `nil` where it would not tell of writers, and once the file
    /// is sealed.
    private var twin: ReadOnlyTwin?
    private var isSealed = false
    let folder: Folder
    /// The destination's name in `folder`.
    let name: String
    /// What it is called now; `nil` while it has no name, or once it has its own.
    private(set) var hiddenName: String?

    private init(adopting descriptor: consuming Descriptor, in folder: Folder, for name: String, hidden: String?) {
        self.folder = folder
        self.name = name
        hiddenName = hidden
        // Elsewhere locks are not believed, and leases no more.
        twin = folder.isLocal ? ReadOnlyTwin.of(descriptor.number) : nil
        self.descriptor = descriptor.release()
    }

    deinit {
        // A failure has no caller to go to; the next run sweeps what stays.
        if let hiddenName { unlinkat(folder.descriptor, hiddenName, 0) }
        close(descriptor)
    }

    // MARK: - Opening

    /// An empty file for `name`. `mustBeHidden` does without unnamed files, as some file systems have to.
    static func create(
        in folder: Folder,
        for name: String,
        mustBeHidden: Bool
    ) throws(StorageError) -> UnfinishedFile {
        if folder.isLocal { try sweep(in: folder, for: name) }
        if !mustBeHidden, let unnamed = try unnamed(in: folder, for: name) { return unnamed }
        return try hidden(in: folder, for: name)
    }

    /// A file without a name, or `nil` where the file system has none or it could not be given a name later.
    private static func unnamed(in folder: Folder, for name: String) throws(StorageError) -> UnfinishedFile? {
        let flags = KernelFlag.unnamedFile | O_RDWR | O_CLOEXEC
        let opened = retryingInterrupts { openat(folder.descriptor, ".", flags, 0o666) }
        if opened < 0 {
            switch errno {
            // EISDIR and ENOENT come from kernels that do not know the flag, EINVAL from file systems that mind it.
            case EOPNOTSUPP, EISDIR, EINVAL, ENOENT, ENOSYS: return nil
            case let number: throw cannotCreate(number, in: folder, name)
            }
        }
        let descriptor = Descriptor(adopting: opened)
        // Linked through /proc, which needs no privilege; looked at now, not after an hour's work.
        guard faccessat(AT_FDCWD, procPath(of: opened), F_OK, 0) == 0 else { return nil }
        let file = UnfinishedFile(adopting: descriptor, in: folder, for: name, hidden: nil)
        if folder.isLocal { try file.lock() }
        return file
    }

    /// A new file under a hidden name that no other file has.
    private static func hidden(in folder: Folder, for name: String) throws(StorageError) -> UnfinishedFile {
        for hidden in candidates(in: folder, for: name) {
            let flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW
            let opened = retryingInterrupts { openat(folder.descriptor, hidden, flags, 0o666) }
            if opened < 0 {
                if errno == EEXIST { continue }
                throw cannotCreate(errno, in: folder, name)
            }
            let descriptor = Descriptor(adopting: opened)
            let file = UnfinishedFile(adopting: descriptor, in: folder, for: name, hidden: hidden)
            let isOurs = folder.isLocal ? try file.lock() : true
            if isOurs { return file }
            // Between creation and lock a sweeper took it for an orphan, and removes it.
            file.hiddenName = nil
        }
        throw cannotCreate(EEXIST, in: folder, name)
    }

    /// Shows sweepers that the file has an owner; returns whether no sweeper was faster.
    @discardableResult private func lock() throws(StorageError) -> Bool {
        // Not with the descriptor that a pump room is lent, where there is another.
        if flock(twin?.number ?? descriptor, LOCK_EX | LOCK_NB) == 0 {
            guard let facts = FileFacts.of(descriptor) else { throw Self.cannotCreate(errno, in: folder, name) }
            return facts.linkCount > 0
        }
        if errno == EWOULDBLOCK { return false }
        throw Self.cannotCreate(errno, in: folder, name)
    }

    private static func cannotCreate(_ number: Int32, in folder: Folder, _ name: String) -> StorageError {
        StorageError(errno: number, .destination, at: .open, "create", place: folder.path(of: name))
    }

    /// The hidden names to try, in order. Random ones are drawn one by one, and more than one is hardly ever needed.
    private static func candidates(in folder: Folder, for name: String) -> some Sequence<String> {
        let slots = folder.isLocal ? HiddenName.slotCount : 0
        return (1...slots + 3).lazy.map {
            $0 <= slots ? HiddenName.slot($0, for: name) : HiddenName.random(for: name)
        }
    }

    // MARK: - Sweeping

    /// Removes what killed runs left of `name`.
    private static func sweep(in folder: Folder, for name: String) throws(StorageError) {
        for slot in 1...HiddenName.slotCount { _ = try sweep(HiddenName.slot(slot, for: name), in: folder) }
    }

    /// Removes the file `hidden` if it is ours and has no writer; returns whether it did.
    static func sweep(_ hidden: String, in folder: Folder) throws(StorageError) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let opened = retryingInterrupts { openat(folder.descriptor, hidden, flags, 0) }
        // There is none, or it is not ours to look at.
        guard opened >= 0 else { return false }
        let orphan = Descriptor(adopting: opened)
        guard let facts = FileFacts.of(orphan.number), facts.kind == .file, facts.owner == geteuid(),
            flock(orphan.number, LOCK_EX | LOCK_NB) == 0,
            // Its owner may have published it, and another run taken the name, before the lock was had.
            try folder.facts(of: hidden, at: .open)?.identity == facts.identity
        else { return false }
        try folder.remove(hidden)
        return true
    }

    // MARK: - Sealing

    /// Whether `seal` can tell.
    var canBeSealed: Bool { twin != nil || isSealed }

    /// Closes what it was written with, and returns whether any other writer is left; may be asked again. `nil` where nothing
    /// tells, and then the file stays open to write.
    func seal() -> Bool? {
        if let twin = twin.take() {
            close(descriptor)
            descriptor = twin.release()
            isSealed = true
        }
        return isSealed ? ReadOnlyTwin.hasWriters(descriptor) ?? true : nil
    }

    // MARK: - Naming

    /// Makes the content survive a power cut.
    func flush() throws(StorageError) {
        // Never repeated after a failure: the kernel has then forgotten what it could not write.
        guard fsync(descriptor) != 0 else { return }
        throw StorageError(errno: errno, .destination, at: .publish, "flush", place: folder.path(of: name))
    }

    /// Gives it its own name unless that is taken; returns whether it was free.
    func takeFreeName() throws(StorageError) -> Bool { try takeFreeName(name) }

    /// Gives it the name `free` unless that is taken; returns whether it was free.
    func takeFreeName(_ free: String) throws(StorageError) -> Bool {
        let taken =
            if let hiddenName {
                try folder.move(hiddenName, toFree: free)
            } else {
                try link(as: free)
            }
        if taken { hiddenName = nil }
        return taken
    }

    /// Gives it its own name, and takes that from any other file.
    func takeName() throws(StorageError) {
        if hiddenName == nil {
            if try link(as: name) { return }
            hiddenName = try linkHidden()
        }
        guard let hiddenName else { preconditionFailure("it was just linked") }
        try folder.move(hiddenName, over: name)
        self.hiddenName = nil
    }

    /// Removes the hidden name, if it has one.
    func discard() throws(StorageError) {
        guard let doomed = hiddenName else { return }
        hiddenName = nil
        try folder.remove(doomed)
    }

    /// Links the unnamed file under a hidden name, from which it can be moved over another.
    private func linkHidden() throws(StorageError) -> String {
        for hidden in Self.candidates(in: folder, for: name) where try link(as: hidden) { return hidden }
        throw StorageError(errno: EEXIST, .destination, at: .publish, "publish", place: folder.path(of: name))
    }

    /// Links the unnamed file as `free`; returns whether that was free.
    private func link(as free: String) throws(StorageError) -> Bool {
        let done = linkat(AT_FDCWD, Self.procPath(of: descriptor), folder.descriptor, free, AT_SYMLINK_FOLLOW)
        if done == 0 { return true }
        if errno == EEXIST { return false }
        throw StorageError(errno: errno, .destination, at: .publish, "publish", place: folder.path(of: free))
    }

    private static func procPath(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }
}
