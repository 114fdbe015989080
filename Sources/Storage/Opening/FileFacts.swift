import Glibc

/// Identifies a file independently of its name: two names of one file have one identity.
public struct FileIdentity: Sendable, Hashable {
    /// The number of the file system.
    public let device: UInt64
    /// The number of the file in its file system.
    public let inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// The type of file that a path leads to.
public enum FileKind: String, Sendable, Hashable, CaseIterable {
    case file, folder, pipe, socket, link
    case characterDevice = "character device"
    case blockDevice = "block device"
}

/// The metadata of a file, read without opening it.
package struct FileFacts {
    package let identity: FileIdentity
    package let kind: FileKind
    package let byteCount: Int64
    let linkCount: Int
    let owner: UInt32
    let mode: UInt32
    let group: UInt32
    /// When contents or metadata last changed, in seconds since 1970, by the clock of the file system.
    let changedAt: Int64
    /// The same in nanoseconds.
    let changedAtNanoseconds: Int64
    /// When the contents last changed, in nanoseconds since 1970, by the clock of the file system.
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
        changedAtNanoseconds = Self.nanoseconds(raw.st_ctim)
        modifiedAt = Self.nanoseconds(raw.st_mtim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // Times beyond the year 2262 do not fit and all become the maximum.
        let (nanoseconds, isTooFar) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooFar ? .max : nanoseconds &+ Int64(time.tv_nsec)
    }

    var permissions: FilePermissions { FilePermissions(mode: mode & 0o777, group: group, owner: owner) }

    /// The metadata of an open file; `nil` with `errno` set on an error.
    static func of(_ descriptor: Int32) -> FileFacts? {
        var raw = stat()
        return fstat(descriptor, &raw) == 0 ? FileFacts(raw) : nil
    }

    /// The metadata of the file that `path` leads to; `nil` with `errno` set if there is none.
    package static func of(path: String, followingLinks: Bool) -> FileFacts? {
        of(path, followingLinks: followingLinks)
    }

    /// Whether the last lookup of this thread failed because nothing exists there, rather than for another reason.
    package static var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }

    /// The metadata of `path`, resolved from `folder`; `nil` with `errno` set if it leads nowhere.
    static func of(_ path: String, in folder: Int32 = AT_FDCWD, followingLinks: Bool) -> FileFacts? {
        var raw = stat()
        return fstatat(folder, path, &raw, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 ? FileFacts(raw) : nil
    }
}
