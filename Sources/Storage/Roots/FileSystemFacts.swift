import Glibc

/// A file system, and how much room it has.
public struct FileSystemFacts: Sendable, Hashable {
    /// What tells it from others while it is mounted.
    public let device: UInt64
    /// The topmost folder of it that a path leads to.
    public let mountPoint: String
    /// For users who are not root.
    public let freeBytes: UInt64
    public let byteCount: UInt64
    /// Whether no further file can be made, however small.
    public let isOutOfNames: Bool

    /// Whether it is full by itself, rather than by what one job wanted to write.
    public var isFull: Bool { isOutOfNames || freeBytes < min(Self.leastRoom, byteCount / 100) }

    private static let leastRoom: UInt64 = 64 << 20

    init(device: UInt64, mountPoint: String, freeBytes: UInt64, byteCount: UInt64, isOutOfNames: Bool) {
        (self.device, self.mountPoint) = (device, mountPoint)
        (self.freeBytes, self.byteCount, self.isOutOfNames) = (freeBytes, byteCount, isOutOfNames)
    }

    /// Of what an open folder lies on; `nil` if the kernel will not say. Blocks.
    init?(_ folder: Int32) {
        var facts = statvfs()
        guard fstatvfs(folder, &facts) == 0, let identity = FileFacts.of(folder)?.identity else { return nil }
        device = identity.device
        mountPoint = Self.mountPoint(of: Self.path(of: folder))
        freeBytes = UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
        byteCount = UInt64(facts.f_blocks) * UInt64(facts.f_frsize)
        isOutOfNames = facts.f_files > 0 && facts.f_favail == 0
    }

    /// Of what `path` leads to.
    public init?(path: String) {
        let opened = retryingInterrupts { open(path, O_DIRECTORY | KernelFlag.placeOnly | O_CLOEXEC, 0) }
        guard opened >= 0 else { return nil }
        let folder = Descriptor(adopting: opened)
        self.init(folder.number)
    }

    /// Where an open folder is now.
    static func path(of folder: Int32) -> String {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(folder)", &letters, letters.count)
        return count > 0 ? String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : "/"
    }

    /// The topmost folder above `path` that lies on the same file system. Subvolumes and bind mounts of one file system count as
    /// what they are: the mount table would know them by other devices.
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
    /// The file system on which an output for `location` would lie; of folders that are not there yet, the next one above.
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
                    "look at the file system of",
                    place: "\(location)"
                )
            } catch  where error.code == .folderNotFound && !below.isEmpty {
                below = below.pathNames.dropLast().joined(separator: "/")
            }
        }
    }

    /// Whether all that lies below the root lies on one file system, which is `device`.
    public func isWholly(on device: UInt64) -> Bool {
        device == identity.device && !MountTable.read().hasMounts(below: realPath)
    }
}
