import Conversion
import Glibc
import System

/// A file system and its free space.
public struct FileSystemFacts: Sendable, Hashable {
    /// Identifies the file system while it is mounted.
    public let device: UInt64
    /// The topmost folder of the file system on the path.
    public let mountPoint: String
    /// Free bytes for users other than root.
    public let freeBytes: UInt64
    public let byteCount: UInt64
    /// Whether no further file can be created, however small.
    public let isOutOfNames: Bool

    /// Whether the file system itself is full, as opposed to one job's output being too large for it.
    public var isFull: Bool { isOutOfNames || freeBytes < min(Self.leastRoom, byteCount / 100) }

    private static let leastRoom: UInt64 = 64 << 20

    init(device: UInt64, mountPoint: String, freeBytes: UInt64, byteCount: UInt64, isOutOfNames: Bool) {
        (self.device, self.mountPoint) = (device, mountPoint)
        (self.freeBytes, self.byteCount, self.isOutOfNames) = (freeBytes, byteCount, isOutOfNames)
    }

    /// The file system of an open folder; `nil` if the kernel does not report it. Blocks.
    init?(_ folder: Int32) {
        var facts = statvfs()
        guard fstatvfs(folder, &facts) == 0, let identity = FileFacts.of(folder)?.identity else { return nil }
        device = identity.device
        mountPoint = Self.mountPoint(of: Self.path(of: folder))
        freeBytes = Self.bytes(UInt64(facts.f_bavail), of: UInt64(facts.f_frsize))
        byteCount = Self.bytes(UInt64(facts.f_blocks), of: UInt64(facts.f_frsize))
        isOutOfNames = facts.f_files > 0 && facts.f_favail == 0
    }

    /// A file server may tell any numbers.
    private static func bytes(_ blocks: UInt64, of size: UInt64) -> UInt64 {
        let (bytes, isTooMany) = blocks.multipliedReportingOverflow(by: size)
        return isTooMany ? .max : bytes
    }

    /// The file system of the folder at `path`.
    public init?(path: String) {
        let opened = retryingInterrupts { open(path, O_DIRECTORY | SystemFlag.placeOnly | O_CLOEXEC, 0) }
        guard opened >= 0 else { return nil }
        let folder = Descriptor(adopting: opened)
        self.init(folder.number)
    }

    /// Whether the file system at `path`, or at the nearest folder above it that exists, may take names for one that
    /// differ only in case or in how Unicode composes their letters.
    public static func foldsNames(at path: String) -> Bool {
        var parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        while true {
            let here = "/" + parts.joined(separator: "/")
            let opened = retryingInterrupts { open(here, SystemFlag.placeOnly | O_CLOEXEC, 0) }
            if opened >= 0 { return FileSystemKind.of(Descriptor(adopting: opened).number).foldsNames }
            guard FileFacts.isMissing, parts.popLast() != nil else { return false }
        }
    }

    /// The current path of an open folder.
    static func path(of folder: Int32) -> String {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(folder)", &letters, letters.count)
        return count > 0 ? String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : "/"
    }

    /// The topmost folder above `path` on the same file system. Goes by device numbers, so subvolumes and bind
    /// mounts are handled correctly: the mount table lists other devices for them.
    static func mountPoint(of path: String) -> String {
        guard let device = FileFacts.of(path, followingLinks: true)?.identity.device else { return path }
        var here = path
        while here != "/" {
            let cut = here.unicodeScalars.lastIndex(of: "/") ?? here.startIndex
            let above = cut == here.startIndex ? "/" : String(here[..<cut])
            guard FileFacts.of(above, followingLinks: true)?.identity.device == device else { break }
            here = above
        }
        return here
    }
}

extension StorageRoot {
    /// The file system on which an output for `location` would lie. If folders are missing, looks at the nearest
    /// existing one.
    public func fileSystem(of location: Location) throws(StorageError) -> FileSystemFacts {
        var below = location.folder
        while true {
            do throws(StorageError) {
                let folder = try folder(below, at: .open, creating: false)
                if let facts = FileSystemFacts(folder.descriptor) { return facts }
                throw StorageError(
                    errno: errno,
                    .destination,
                    at: .open,
                    "inspect the file system of",
                    place: "\(location)"
                )
            } catch  where error.code == .folderNotFound && !below.isEmpty {
                below = below.pathNames.dropLast().joined(separator: "/")
            }
        }
    }

    /// Whether everything below the root lies on one file system, with the number `device`.
    public func isWholly(on device: UInt64) -> Bool {
        device == identity.device && !MountTable.read().hasMounts(below: realPath)
    }
}
