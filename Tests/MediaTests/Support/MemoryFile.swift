import Glibc
import TestSupport

/// Files in memory, without a name.
enum MemoryFile {
    private typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32

    // From linux/fcntl.h and linux/memfd.h, which glibc's module map hides.
    private static let allowSealing: UInt32 = 2
    private static let addSeals: Int32 = 1033
    private static let sealGrow: Int32 = 4

    /// Opens an empty file.
    static func open() throws -> OpenFile {
        guard let address = dlsym(nil, "memfd_create") else { throw SupportError("find memfd_create", "not in glibc") }
        let create = unsafeBitCast(address, to: Create.self)
        let descriptor = create("test", allowSealing)
        guard descriptor >= 0 else { throw SupportError("create a file in memory", errno: errno) }
        return OpenFile(adopting: descriptor)
    }

    /// Opens a file of `size` bytes that cannot grow. Writes beyond its size really fail, as on a full disk.
    static func sealed(size: Int) throws -> OpenFile {
        let file = try open()
        guard ftruncate(file.descriptor, size) == 0, fcntl(file.descriptor, addSeals, sealGrow) == 0 else {
            throw SupportError("seal a file in memory", errno: errno)
        }
        return file
    }

    /// The size in bytes of the file behind `descriptor`.
    static func size(of descriptor: Int32) throws -> Int64 {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SupportError("stat a file in memory", errno: errno) }
        return Int64(facts.st_size)
    }
}
