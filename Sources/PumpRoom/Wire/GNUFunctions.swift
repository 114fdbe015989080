import Glibc

/// Functions of glibc that Swift cannot import (they need _GNU_SOURCE or are variadic), looked up by name.
enum GNUFunctions {
    typealias Pipe2 = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    typealias ProcessControl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    typealias SystemCall = @convention(c) (Int, Int, Int) -> Int

    /// A pipe that is close-on-exec from the start. If the flag were set later, a child spawned
    /// in between would inherit it.
    static let pipe2 = look(for: "pipe2", as: Pipe2.self)

    /// Since glibc 2.34.
    static let addCloseFrom = look(for: "posix_spawn_file_actions_addclosefrom_np", as: AddCloseFrom.self)

    /// Variadic in C. On every architecture that Swift supports here, it takes its arguments from the same registers
    /// as a function that is not variadic. The same holds for `syscall`.
    static let processControl = look(for: "prctl", as: ProcessControl.self)

    /// `syscall` with two arguments, for system calls without a wrapper in glibc 2.35.
    static let systemCall = look(for: "syscall", as: SystemCall.self)

    private static func look<Function>(for name: String, as type: Function.Type) -> Function {
        guard let address = dlsym(nil, name) else { preconditionFailure("this glibc has no \(name)") }
        return unsafeBitCast(address, to: type)
    }
}

/// Constants of the kernel's interface that Swift cannot import, for the same reason.
enum KernelNumber {
    /// pidfd_open, since Linux 5.3; the same on every architecture.
    static let pidfdOpen = 434
}

/// Repeats a call that fails with EINTR.
func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// The system's text for an error number.
func systemText(_ number: Int32) -> String { String(cString: strerror(number)) }
