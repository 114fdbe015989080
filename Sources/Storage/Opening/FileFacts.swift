import Glibc

/// Which file it is, however it is called: two names of one file have one identity.
public struct FileIdentity: Sendable, Hashable {
    /// The file system.
    public let device: UInt64
    /// The file in it.
    public let inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// What kind of thing a path leads to.
public enum FileKind: String, Sendable, Hashable, CaseIterable {
    case file, folder, pipe, socket, link
    case characterDevice = "character device"
    case blockDevice = "block device"
}

/// What the kernel says of a file without opening it.
package struct FileFacts {
    let identity: FileIdentity
    package let kind: FileKind
    package let byteCount: Int64
    let linkCount: Int
    let owner: UInt32
    let mode: UInt32
    let group: UInt32
    /// When content or names last changed, in seconds since 1970, by the clock of the file system.
    let changedAt: Int64
    /// When content last changed, in nanoseconds since 1970, by the clock of the file system.
    package let modifiedAt: Int64

    private init(_ raw: stat) {
        identity = FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
        kind =
            switch raw.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFIFO: .pipe
            case S_IFSOCK: .socket
            case S_IFLNK: .link
            case S_IFCHR: .characterDevice
            default: .blockDevice
            }
        byteCount = Int64(raw.st_size)
        linkCount = Int(raw.st_nlink)
        owner = raw.st_uid
        mode = UInt32(raw.st_mode)
        group = raw.st_gid
        changedAt = Int64(raw.st_ctim.tv_sec)
        // Beyond the year 2262 all times are one.
        let (nanoseconds, isTooFar) = Int64(raw.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        modifiedAt = isTooFar ? .max : nanoseconds &+ Int64(raw.st_mtim.tv_nsec)
    }

    var permissions: FilePermissions { FilePermissions(mode: mode & 0o777, group: group) }

    /// What an open descriptor is; `nil` with `errno` set if the kernel will not say.
    static func of(_ descriptor: Int32) -> FileFacts? {
        var raw = stat()
        return fstat(descriptor, &raw) == 0 ? FileFacts(raw) : nil
    }

    /// What `path` leads to; `nil` with `errno` set if it leads nowhere.
    package static func of(path: String, followingLinks: Bool) -> FileFacts? {
        of(path, followingLinks: followingLinks)
    }

    /// Whether the last look of this thread found nothing, rather than being refused.
    package static var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }

    /// What `path` leads to, seen from `folder`; `nil` with `errno` set if it leads nowhere.
    static func of(_ path: String, in folder: Int32 = AT_FDCWD, followingLinks: Bool) -> FileFacts? {
        var raw = stat()
        return fstatat(folder, path, &raw, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 ? FileFacts(raw) : nil
    }
}
