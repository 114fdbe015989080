import Conversion
import Glibc
import System

/// A file being written in its destination's folder: unnamed, or under a hidden name if the file system requires one.
///
/// If dropped, it leaves nothing. A killed process leaves nothing either or, under a hidden name, a file that the
/// next run to the same destination sweeps: the writer locks every hidden file (flock), and the kernel releases the
/// lock when the last descriptor is closed, however the process ended. So a hidden file whose lock is free is an
/// orphan. Process ids would not tell: containers share folders, but not their processes. If other machines see the
/// folder, locks are not reliable (NFS may keep them local), so nothing is swept there and hidden names are random.
final class UnfinishedFile {
    /// Open for reading and writing; after sealing, for reading only.
    private(set) var descriptor: Int32
    /// Opened before anything was written, and holder of the lock; `nil` if leases do not reveal writers, and once
    /// the file is sealed.
    private var twin: ReadOnlyTwin?
    private var isSealed = false
    let folder: Folder
    /// The destination's name in `folder`.
    let name: String
    /// The file's current hidden name; `nil` while it is unnamed, and once it has its final name.
    private(set) var hiddenName: String?

    private init(adopting descriptor: consuming Descriptor, in folder: Folder, for name: String, hidden: String?) {
        self.folder = folder
        self.name = name
        hiddenName = hidden
        // On other file systems locks are not reliable, and leases even less.
        twin = folder.isLocal ? ReadOnlyTwin.of(descriptor.number) : nil
        self.descriptor = descriptor.release()
    }

    deinit {
        // A failure cannot be reported from here; the next run sweeps what stays.
        if let hiddenName { unlinkat(folder.descriptor, hiddenName, 0) }
        close(descriptor)
    }

    // MARK: - Opening

    /// An empty file for `name`. `mustBeHidden` works without unnamed files, as some file systems require.
    ///
    /// `sweeping` says whether earlier runs may have left hidden files for `name` although the file system has unnamed
    /// ones: a run that replaces a file may. Where a hidden name is needed, it is swept in any case.
    static func create(
        in folder: Folder,
        for name: String,
        _ access: OutputAccess,
        mustBeHidden: Bool,
        sweeping: Bool
    ) throws(StorageError) -> UnfinishedFile {
        if sweeping, folder.isLocal { try sweep(in: folder, for: name) }
        let above = folder.facts?.mode
        let mode = access.creationMode(in: above)
        let file: UnfinishedFile
        if !mustBeHidden, let unnamed = try unnamed(in: folder, for: name, mode) {
            file = unnamed
        } else {
            if !sweeping, folder.isLocal { try sweep(in: folder, for: name) }
            file = try hidden(in: folder, for: name, mode)
        }
        try file.permit(access, in: above)
        return file
    }

    /// An unnamed file; `nil` if the file system has none, or if it could not be linked later.
    private static func unnamed(
        in folder: Folder,
        for name: String,
        _ mode: UInt32
    ) throws(StorageError) -> UnfinishedFile? {
        let flags = SystemFlag.unnamedFile | O_RDWR | O_CLOEXEC
        let opened = retryingInterrupts { openat(folder.descriptor, ".", flags, mode) }
        if opened < 0 {
            switch errno {
            // EISDIR and ENOENT come from kernels that do not know the flag, EINVAL from file systems that reject it.
            case EOPNOTSUPP, EISDIR, EINVAL, ENOENT, ENOSYS: return nil
            case let number: throw cannotCreate(number, in: folder, name)
            }
        }
        let file = UnfinishedFile(adopting: Descriptor(adopting: opened), in: folder, for: name, hidden: nil)
        // Linking goes through /proc, which needs no privilege. Checked now, not after an hour's work. A twin was opened
        // through it.
        guard file.twin != nil || faccessat(AT_FDCWD, procPath(of: opened), F_OK, 0) == 0 else { return nil }
        if folder.isLocal { try file.lock() }
        return file
    }

    /// A new file under a hidden name that no other file has.
    private static func hidden(
        in folder: Folder,
        for name: String,
        _ mode: UInt32
    ) throws(StorageError) -> UnfinishedFile {
        for hidden in candidates(in: folder, for: name) {
            let flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW
            let opened = retryingInterrupts { openat(folder.descriptor, hidden, flags, mode) }
            if opened < 0 {
                if errno == EEXIST { continue }
                throw cannotCreate(errno, in: folder, name)
            }
            let descriptor = Descriptor(adopting: opened)
            let file = UnfinishedFile(adopting: descriptor, in: folder, for: name, hidden: hidden)
            let isOurs = folder.isLocal ? try file.lock() : true
            if isOurs { return file }
            // Between creation and lock a sweeper took the file for an orphan; the sweeper removes it.
            file.hiddenName = nil
        }
        throw cannotCreate(EEXIST, in: folder, name)
    }

    /// Locks the file to show sweepers that it has an owner; returns whether no sweeper was faster.
    @discardableResult private func lock() throws(StorageError) -> Bool {
        // Locks the twin where there is one, because the pump room receives the other descriptor.
        if flock(twin?.number ?? descriptor, LOCK_EX | LOCK_NB) == 0 {
            // No sweeper finds a file without a name.
            guard hiddenName != nil else { return true }
            guard let facts = FileFacts.of(descriptor) else { throw Self.cannotCreate(errno, in: folder, name) }
            return facts.linkCount > 0
        }
        if errno == EWOULDBLOCK { return false }
        throw Self.cannotCreate(errno, in: folder, name)
    }

    private static func cannotCreate(_ number: Int32, in folder: Folder, _ name: String) -> StorageError {
        StorageError(errno: number, .destination, at: .open, "create", place: folder.path(of: name))
    }

    /// The hidden names to try, in order. Random ones are drawn one by one, and hardly ever more than one is needed.
    private static func candidates(in folder: Folder, for name: String) -> some Sequence<String> {
        let slots = folder.isLocal ? HiddenName.slotCount : 0
        return (1...slots + 3).lazy.map {
            $0 <= slots ? HiddenName.slot($0, for: name) : HiddenName.random(for: name)
        }
    }

    // MARK: - Sweeping

    /// Removes what killed runs left for `name`.
    private static func sweep(in folder: Folder, for name: String) throws(StorageError) {
        for slot in 1...HiddenName.slotCount { _ = try sweep(HiddenName.slot(slot, for: name), in: folder) }
    }

    /// Removes the file `hidden` if it belongs to this user and has no writer; returns whether it did so.
    static func sweep(_ hidden: String, in folder: Folder) throws(StorageError) -> Bool {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let opened = retryingInterrupts { openat(folder.descriptor, hidden, flags, 0) }
        // The file does not exist, or this process may not read it.
        guard opened >= 0 else { return false }
        let orphan = Descriptor(adopting: opened)
        guard let facts = FileFacts.of(orphan.number), facts.kind == .file, facts.owner == geteuid(),
            flock(orphan.number, LOCK_EX | LOCK_NB) == 0,
            // Before the lock was taken, the owner may have published the file and another run may have taken the name.
            try folder.facts(of: hidden, at: .open)?.identity == facts.identity
        else { return false }
        try folder.remove(hidden)
        return true
    }

    // MARK: - Sealing

    /// Whether `seal` can detect writers.
    var canBeSealed: Bool { twin != nil || isSealed }

    /// Closes the descriptor that the file was written with. Returns whether any other writer is left; may be
    /// repeated. `nil` if the kernel cannot tell, and then the file stays open for writing.
    func seal() -> Bool? {
        folder.touch()
        if let twin = twin.take() {
            close(descriptor)
            descriptor = twin.release()
            isSealed = true
        }
        return isSealed ? ReadOnlyTwin.hasWriters(descriptor) ?? true : nil
    }

    // MARK: - Naming

    /// Makes the contents survive a power cut.
    func flush() throws(StorageError) {
        folder.touch()
        // Never repeated after a failure: by then the kernel has forgotten what it could not write.
        guard fsync(descriptor) != 0 else { return FileCalls.goesOn() }
        throw StorageError(errno: errno, .destination, at: .publish, "flush", place: folder.path(of: name))
    }

    /// Gives the file its final name unless that is taken; returns whether the name was free.
    func takeFreeName() throws(StorageError) -> Bool { try takeFreeName(name) }

    /// Gives the file the name `free` unless that is taken; returns whether the name was free.
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

    /// Gives the file its final name, replacing any other file of that name.
    func takeName() throws(StorageError) {
        if try takeFreeNameOrHide() { return }
        guard let hiddenName else { preconditionFailure("a file without its final name has a hidden one") }
        try folder.move(hiddenName, over: name)
        self.hiddenName = nil
    }

    /// Gives an unnamed file its final name if that is free, otherwise a hidden one, from which a rename can move it
    /// over the other file. Returns whether it has its final name.
    func takeFreeNameOrHide() throws(StorageError) -> Bool {
        guard hiddenName == nil else { return false }
        if try link(as: name) { return true }
        hiddenName = try linkHidden()
        return false
    }

    /// Removes the final name again, if it is still this file's.
    func giveUpName() {
        guard let present = FileFacts.of(name, in: folder.descriptor, followingLinks: false),
            present.identity == FileFacts.of(descriptor)?.identity
        else { return }
        // The failure that made this necessary is reported; a second one would hide it.
        unlinkat(folder.descriptor, name, 0)
    }

    /// Removes the hidden name, if the file has one.
    func discard() throws(StorageError) {
        guard let doomed = hiddenName else { return }
        hiddenName = nil
        try folder.remove(doomed)
    }

    /// Links the unnamed file under a hidden name, from which a rename can move it over another file.
    private func linkHidden() throws(StorageError) -> String {
        for hidden in Self.candidates(in: folder, for: name) where try link(as: hidden) { return hidden }
        throw StorageError(errno: EEXIST, .destination, at: .publish, "publish", place: folder.path(of: name))
    }

    /// Links the unnamed file as `free`; returns whether that name was free.
    private func link(as free: String) throws(StorageError) -> Bool {
        let done = linkat(AT_FDCWD, Self.procPath(of: descriptor), folder.descriptor, free, AT_SYMLINK_FOLLOW)
        if done == 0 { return true }
        if errno == EEXIST { return false }
        throw StorageError(errno: errno, .destination, at: .publish, "publish", place: folder.path(of: free))
    }

    private static func procPath(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }
}
