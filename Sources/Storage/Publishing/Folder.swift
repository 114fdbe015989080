import Conversion
import Glibc
import System

/// An open folder. Lookups in it work even if the folder itself is renamed.
final class Folder: Sendable {
    let descriptor: Int32
    /// As the caller wrote it, for messages.
    let path: String
    /// The root that it lies below, if it was opened there.
    let root: String?
    let kind: FileSystemKind
    /// Whether only this machine can change the folder's contents, so that locks and the page cache are reliable.
    var isLocal: Bool { kind.isLocal }
    /// Those of the folder when it was opened; `nil` if it could not be asked. Its identity never changes.
    let facts: FileFacts?
    /// A folder that can be written and searched but not read cannot be flushed by its own descriptor.
    let isReadable: Bool

    /// Takes ownership of an open folder. If it is not readable, it must have been opened with O_PATH.
    init(adopting descriptor: consuming Descriptor, path: String, isReadable: Bool, below root: String? = nil) {
        kind = FileSystemKind.of(descriptor.number)
        facts = FileFacts.of(descriptor.number)
        (self.path, self.root) = (path, root)
        self.isReadable = isReadable
        self.descriptor = descriptor.release()
    }

    deinit { close(descriptor) }

    /// Says which root the call on this thread is at.
    func touch() { if let root { FileCalls.touches(root) } }

    /// Opens the folder at `path`, following links.
    static func open(_ path: String) throws(StorageError) -> Folder {
        let flags = O_DIRECTORY | O_CLOEXEC
        let readable = retryingInterrupts { Glibc.open(path, O_RDONLY | flags, 0) }
        if readable >= 0 { return Folder(adopting: Descriptor(adopting: readable), path: path, isReadable: true) }
        // Enough for everything but reading: a drop box lets users add files without listing it.
        let opened = errno == EACCES ? Glibc.open(path, SystemFlag.placeOnly | flags, 0) : -1
        guard opened >= 0 else {
            throw StorageError(errno: errno, .destination, at: .open, "open the folder", place: path)
        }
        return Folder(adopting: Descriptor(adopting: opened), path: path, isReadable: false)
    }

    /// The path of `name` in this folder, for messages.
    func path(of name: String) -> String {
        path == "." ? name : path.hasSuffix("/") || path.hasSuffix(":") ? path + name : path + "/" + name
    }

    /// Sets the group and the permissions of the folder `name`, which this process has just created in this one, whose mode
    /// is `parent`. Those who may write to this one can put another in its place, which stays as it is.
    func permitNew(_ name: String, _ access: OutputAccess, in parent: UInt32) throws(StorageError) {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let opened = Descriptor(adopting: retryingInterrupts { openat(descriptor, name, flags, 0) })
        // One that may not be read cannot be changed.
        guard opened.number >= 0, let facts = FileFacts.of(opened.number) else { return }
        let folder = Folder(adopting: opened, path: path(of: name), isReadable: true)
        // Another worker may use the new folder already. It has the mode with which it was created.
        let isAsCreated = facts.mode & 0o777 == access.folderMode(0, in: parent) & 0o777
        guard facts.owner == geteuid(), isAsCreated || folder.isEmpty else {
            // NFS gives what root creates to the user `nobody`, unless the export has no_root_squash.
            guard let group = access.group, facts.group != group else { return }
            throw StorageError(errno: EPERM, .destination, at: .open, "set the group of", place: folder.path)
        }
        try folder.permit(access, in: parent)
    }

    /// Whether there is no file in this folder; false if it cannot be listed.
    private var isEmpty: Bool {
        let opened = retryingInterrupts { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        guard opened >= 0 else { return false }
        guard let stream = fdopendir(opened) else {
            close(opened)
            return false
        }
        defer { closedir(stream) }
        // `.` and `..` are listed as well, in any order.
        return (0..<3).count { _ in readdir(stream) != nil } <= 2
    }

    private func permit(_ access: OutputAccess, in parent: UInt32) throws(StorageError) {
        guard let facts = FileFacts.of(descriptor) else { return }
        if let group = access.group, facts.group != group, fchown(descriptor, .max, group) != 0 {
            throw StorageError(errno: errno, .destination, at: .open, "set the group of", place: path)
        }
        guard !SystemCall.hasAccessList(descriptor) else { return }
        let wanted = access.folderMode(facts.mode, in: parent)
        guard wanted != facts.mode & 0o7777, let number = access.change(descriptor, to: wanted) else { return }
        throw StorageError(errno: number, .destination, at: .open, "set the permissions of", place: path)
    }

    /// The metadata of `name`, without following links; `nil` if it does not exist.
    func facts(of name: String, at stage: Failure.Stage) throws(StorageError) -> FileFacts? {
        if let facts = FileFacts.of(name, in: descriptor, followingLinks: false) { return facts }
        if errno == ENOENT { return nil }
        throw StorageError(errno: errno, .destination, at: stage, "inspect", place: path(of: name))
    }

    /// Removes `name`; not an error if it is already gone.
    func remove(_ name: String) throws(StorageError) {
        guard unlinkat(descriptor, name, 0) != 0, errno != ENOENT else { return }
        throw StorageError(errno: errno, .destination, at: .publish, "remove", place: path(of: name))
    }

    /// Makes the names in this folder survive a power cut. `file` is an open file in it.
    func flush(with file: Int32) throws(StorageError) {
        // Never repeated after a failure: by then the kernel has forgotten what it could not write.
        guard (isReadable ? fsync(descriptor) : SystemCall.flushFileSystem(of: file)) != 0 else { return }
        throw StorageError(errno: errno, .destination, at: .publish, "flush the folder", place: path)
    }
}
