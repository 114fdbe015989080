import CSandbox
import Glibc
import System

extension SharedDescriptor {
    /// An empty file in memory, without a name in any file system.
    static func memory() throws(SystemError) -> SharedDescriptor {
        let file = sluice_memory_file()
        guard file >= 0 else { throw SystemError(call: "memfd_create", number: errno) }
        return SharedDescriptor(adopting: file)
    }
}
