import Conversion
import Glibc
import System

/// The permissions and the group of a file.
public struct FilePermissions: Sendable, Hashable {
    let mode: UInt32
    let group: UInt32
    /// `nil` if unknown.
    var owner: UInt32?

    /// The most that an output may have before its group is known.
    fileprivate var limitForAnyGroup: UInt32 {
        let ofAll = mode >> 3 & mode & 0o7
        return 0o700 | ofAll << 3 | ofAll
    }

    /// The most that an output made from a file with these permissions may have.
    fileprivate func limit(on output: FilePermissions) -> UInt32 {
        let (ofGroup, ofOthers) = (mode >> 3 & 0o7, mode & 0o7)
        guard group != output.group else { return 0o700 | ofGroup << 3 | ofOthers }
        // The output's group are strangers to the source, and members of the source's group may be among the others.
        return 0o700 | ofOthers << 3 | (ofGroup & ofOthers)
    }
}

/// How an output's permissions are chosen.
public enum OutputMode: Sendable, Hashable {
    /// Those that the umask leaves, limited to those of every source. A pipe sets no limit.
    case withinSources([FilePermissions])
    /// Those of the folder in which the output lies, limited to those of every source: who may list the folder may read
    /// the output. The umask does not count, but a default access list of the folder does.
    case ofFolder(within: [FilePermissions])
    /// Exactly these, whatever the umask is.
    case fixed(UInt32)
    /// Those of the file that the output replaces, with its owner, group, access list and attributes as far as this process
    /// may set them.
    case ofReplaced(ReplacedFile)

    /// The permissions of an output that the kernel created with `created` in a folder with the mode `folder`; that is
    /// `nil` if an access list has decided.
    func permissions(_ created: FilePermissions, folder: UInt32?) -> UInt32 {
        let usual = created.mode & 0o777
        switch self {
        case .fixed(let mode): return mode
        case .ofReplaced(let old):
            let isOfGroup = created.group == old.permissions.group
            return isOfGroup ? old.plainMode : old.plainMode & old.permissions.limit(on: created)
        case .withinSources(let sources): return sources.reduce(usual) { $0 & $1.limit(on: created) }
        case .ofFolder(let sources):
            // Others never write to an output, as in a folder like /tmp. The owner must be able to finish it.
            let inherited = folder.map { $0 & 0o664 | 0o600 } ?? usual
            return sources.reduce(inherited) { $0 & $1.limit(on: created) }
        }
    }
}

/// Who may use an output.
struct OutputAccess: Sendable, Hashable {
    var mode: OutputMode
    /// The group that owns the outputs and new folders; `nil` for the one that the kernel chooses.
    var group: UInt32?

    /// The mode with which an output in a folder with the mode `folder` is created. It is never wider than the one that
    /// follows, where that is known: a file with a name can be opened by others from its first moment on.
    func creationMode(in folder: UInt32?) -> UInt32 {
        switch mode {
        case .fixed(let mode): mode
        case .ofReplaced: 0o600
        case .withinSources: 0o666
        case .ofFolder(let sources): sources.reduce((folder ?? 0) & 0o664 | 0o600) { $0 & $1.limitForAnyGroup }
        }
    }

    /// The mode of a folder that the kernel created with `created` in one with the mode `parent`.
    func folderMode(_ created: UInt32, in parent: UInt32) -> UInt32 {
        switch mode {
        // Who may read the files may enter the folders.
        case .fixed(let mode): mode | (mode & 0o444) >> 2 | 0o700 | created & 0o2000
        default: parent & 0o775 | 0o700 | created & 0o2000
        }
    }

    /// Changes the mode of an open file or folder. Returns the number of the error, if there is one. A file system without
    /// permissions for single files (FAT, some network mounts) keeps its own, unless the root's rules name a mode.
    func change(_ descriptor: Int32, to wanted: UInt32) -> Int32? {
        guard fchmod(descriptor, wanted) != 0 else { return nil }
        if case .fixed = mode { return errno }
        return [EPERM, ENOTSUP, ENOSYS].contains(errno) ? nil : errno
    }
}

extension UnfinishedFile {
    /// Sets an output's group and permissions before anything is written to it. `above` is the mode of its folder.
    func permit(_ access: OutputAccess, in above: UInt32?) throws(StorageError) {
        if let group = access.group { try give(to: group) }
        if case .ofReplaced(let old) = access.mode { old.give(to: descriptor) }
        guard let facts = FileFacts.of(descriptor) else { throw cannotPermit(errno) }
        var parent: UInt32?
        if case .ofFolder = access.mode, !hasAccessList { parent = above }
        let wanted = access.mode.permissions(facts.permissions, folder: parent)
        if wanted != facts.permissions.mode & 0o777, let number = access.change(descriptor, to: wanted) {
            throw cannotPermit(number)
        }
        if case .ofReplaced(let old) = access.mode { old.giveAccessList(to: descriptor) }
    }

    private func give(to group: UInt32) throws(StorageError) {
        guard fchown(descriptor, .max, group) != 0 else { return }
        throw StorageError(errno: errno, .destination, at: .open, "set the group of", place: folder.path(of: name))
    }

    /// Whether the folder has a default access list, which the kernel has given to the file.
    private var hasAccessList: Bool { SystemCall.hasAccessList(descriptor) }

    private func cannotPermit(_ number: Int32) -> StorageError {
        StorageError(errno: number, .destination, at: .open, "set the permissions of", place: folder.path(of: name))
    }
}
