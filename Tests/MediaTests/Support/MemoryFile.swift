import Glibc
import TestSupport

/// Files that lie in memory and have no name.
enum MemoryFile {
    private typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32

    // From linux/fcntl.h and linux/memfd.h, which glibc's module map hides.
    private static let allowSealing: UInt32 = 2
    private static let addSeals: Int32 = 1033
    private static let sealGrow: Int32 = 4

    /// Opens an empty one.
    static func open() throws -> OpenFile {
        guard let address = dlsym(nil, "memfd_create") else { throw SupportError("find memfd_create", "not in glibc") }
        let create = unsafeBitCast(address, to: Create.self)
        let descriptor = create("test", allowSealing)
        guard descriptor >= 0 else { throw SupportError("create a file in memory", errno: errno) }
        return OpenFile(adopting: descriptor)
    }

    /// Opens one of `size` bytes that cannot grow: writes beyond it fail for real, as on a disk that is full.
    static func sealed(size: Int) throws -> OpenFile {
        let file = try open()
        guard ftruncate(file.descriptor, size) == 0, fcntl(file.descriptor, addSeals, sealGrow) == 0 else {
            throw SupportError("seal a file in memory", errno: errno)
        }
        return file
    }

    /// How many bytes are in the file behind `descriptor`.
    static func size(of descriptor: Int32) throws -> Int64 {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SupportError("stat a file in memory", errno: errno) }
        return Int64(facts.st_size)
    }
}
