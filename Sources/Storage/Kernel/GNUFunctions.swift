import Glibc

/// Functions of glibc that Swift cannot import (they need _GNU_SOURCE, or are variadic), looked up by name.
enum GNUFunctions {
    typealias Renameat2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    typealias Syncfs = @convention(c) (Int32) -> Int32
    typealias Fstatfs = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    typealias SyncFileRange = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32
    typealias Openat2 =
        @convention(c) (Int, Int, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    typealias SetAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
    typealias GetAttribute = @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    typealias ErrnoName = @convention(c) (Int32) -> UnsafePointer<CChar>?

    /// Since glibc 2.28.
    static let renameat2 = look(for: "renameat2", as: Renameat2.self)

    /// Since glibc 2.14.
    static let syncfs = look(for: "syncfs", as: Syncfs.self)

    static let syncFileRange = look(for: "sync_file_range", as: SyncFileRange.self)

    /// `syscall` with the arguments of openat2, for which glibc has no function. It is variadic in C; in assembly it
    /// takes its arguments from the same registers as any function, on every architecture that Swift supports.
    static let openat2 = look(for: "syscall", as: Openat2.self)

    /// In <sys/vfs.h>, which Swift's module of glibc leaves out.
    static let fstatfs = look(for: "fstatfs", as: Fstatfs.self)

    /// In <sys/xattr.h>, likewise.
    static let fsetxattr = look(for: "fsetxattr", as: SetAttribute.self)
    static let fgetxattr = look(for: "fgetxattr", as: GetAttribute.self)

    /// Since glibc 2.32.
    static let errnoName = look(for: "strerrorname_np", as: ErrnoName.self)

    private static func look<Function>(for name: String, as type: Function.Type) -> Function {
        guard let address = dlsym(nil, name) else { preconditionFailure("this glibc has no \(name)") }
        return unsafeBitCast(address, to: type)
    }
}

/// Constants of the kernel's interface that Swift cannot import for the same reason.
enum KernelFlag {
    /// O_TMPFILE: a file without a name. It includes O_DIRECTORY, whose value depends on the architecture.
    static let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY
    /// O_PATH: a descriptor that refers to a path but cannot read.
    static let placeOnly: Int32 = 0o10_000_000
    /// RENAME_NOREPLACE.
    static let withoutClobbering: UInt32 = 1
    /// SYNC_FILE_RANGE_WAIT_BEFORE.
    static let waitBefore: UInt32 = 1
    /// F_SETSIG and F_SETLEASE.
    static let setSignal: Int32 = 10
    static let setLease: Int32 = 1024
    /// SEEK_HOLE.
    static let seekHole: Int32 = 4
}

/// Repeats a call that a signal interrupted.
func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
