import Glibc
import TestSupport

/// A file in memory that cannot grow: writes beyond its size fail for real, as on a disk that is full.
enum SealedMemory {
    private typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32

    // From linux/fcntl.h and linux/memfd.h, which glibc's module map hides.
    private static let allowSealing: UInt32 = 2
    private static let addSeals: Int32 = 1033
    private static let sealGrow: Int32 = 4

    /// Opens one of `size` bytes.
    static func open(size: Int) throws -> OpenFile {
        guard let address = dlsym(nil, "memfd_create") else { throw SupportError("find memfd_create", "not in glibc") }
        let create = unsafeBitCast(address, to: Create.self)
        let descriptor = create("sealed", allowSealing)
        guard descriptor >= 0 else { throw SupportError("create a file in memory", errno: errno) }
        let file = OpenFile(adopting: descriptor)
        guard ftruncate(descriptor, size) == 0, fcntl(descriptor, addSeals, sealGrow) == 0 else {
            throw SupportError("seal a file in memory", errno: errno)
        }
        return file
    }
}
