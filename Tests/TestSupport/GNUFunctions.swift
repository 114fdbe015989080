import Glibc

/// Functions of glibc that its module map hides (they need _GNU_SOURCE), looked up by name.
enum GNUFunctions {
    typealias Pipe2 = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    typealias AddChangeFolder =
        @convention(c) (
            UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>
        ) -> Int32

    /// Opens a pipe that is close-on-exec from the start. If the flag were set later, a child spawned meanwhile
    /// would inherit it.
    static let pipe2 = look(for: "pipe2", as: Pipe2.self)

    /// Since glibc 2.34.
    static let addCloseFrom = look(for: "posix_spawn_file_actions_addclosefrom_np", as: AddCloseFrom.self)

    /// Since glibc 2.29.
    static let addChangeFolder = look(for: "posix_spawn_file_actions_addchdir_np", as: AddChangeFolder.self)

    typealias SetAttribute =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
    typealias GetAttribute =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int

    static let setxattr = look(for: "setxattr", as: SetAttribute.self)
    static let getxattr = look(for: "getxattr", as: GetAttribute.self)

    typealias SystemCall = @convention(c) (Int, Int, Int) -> Int

    /// A system call for which older glibc versions have no function. The real function is variadic, which changes
    /// nothing for whole numbers on x86-64 and arm64.
    static let systemCall = look(for: "syscall", as: SystemCall.self)

    private static func look<Function>(for name: String, as type: Function.Type) -> Function {
        guard let address = dlsym(nil, name) else { preconditionFailure("this glibc has no \(name)") }
        return unsafeBitCast(address, to: type)
    }
}
