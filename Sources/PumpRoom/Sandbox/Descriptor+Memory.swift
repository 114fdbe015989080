import CSandbox
import Glibc
package import System

extension SharedDescriptor {
    /// An empty file in memory, without a name in any file system.
    package static func memory() throws(SystemError) -> SharedDescriptor {
        let file = sluice_memory_file()
        guard file >= 0 else { throw SystemError(call: "memfd_create", number: errno) }
        return SharedDescriptor(adopting: file)
    }

    /// The same, for `sealSize`.
    static func sealable() throws(SystemError) -> SharedDescriptor {
        let file = sluice_sealable_memory_file()
        guard file >= 0 else { throw SystemError(call: "memfd_create", number: errno) }
        return SharedDescriptor(adopting: file)
    }

    /// Fixes the length of a sealable file for good.
    func sealSize() throws(SystemError) {
        // F_ADD_SEALS with F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW, which Swift's Glibc module lacks.
        guard fcntl(number, 1_033, Int32(1 | 2 | 4)) == 0 else { throw SystemError(call: "fcntl", number: errno) }
    }
}
