import Glibc

/// Functions of glibc that Swift cannot see (they need _GNU_SOURCE, or are variadic), looked up by name.
enum GNUFunctions {
    typealias Renameat2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    typealias Syncfs = @convention(c) (Int32) -> Int32
    typealias Fstatfs = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    typealias ErrnoName = @convention(c) (Int32) -> UnsafePointer<CChar>?

    /// Since glibc 2.28.
    static let renameat2 = look(for: "renameat2", as: Renameat2.self)

    /// Since glibc 2.14.
    static let syncfs = look(for: "syncfs", as: Syncfs.self)

    /// In <sys/vfs.h>, which Swift's module of glibc leaves out.
    static let fstatfs = look(for: "fstatfs", as: Fstatfs.self)

    /// Since glibc 2.32.
    static let errnoName = look(for: "strerrorname_np", as: ErrnoName.self)

    private static func look<Function>(for name: String, as type: Function.Type) -> Function {
        guard let address = dlsym(nil, name) else { preconditionFailure("this glibc has no \(name)") }
        return unsafeBitCast(address, to: type)
    }
}

/// Numbers of the kernel's interface that Swift cannot see for the same reason.
enum KernelFlag {
    /// O_TMPFILE: a file without a name. It includes O_DIRECTORY, whose value depends on the architecture.
    static let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY
    /// O_PATH: a descriptor that names a place and reads nothing.
    static let placeOnly: Int32 = 0o10_000_000
    /// RENAME_NOREPLACE.
    static let withoutClobbering: UInt32 = 1
}

/// Repeats a call that a signal interrupted.
func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
