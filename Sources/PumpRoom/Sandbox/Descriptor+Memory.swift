import CSandbox
import Glibc

extension Descriptor {
    /// An empty file that is nowhere but in memory.
    static func memory() throws(SystemError) -> Descriptor {
        let file = sluice_memory_file()
        guard file >= 0 else { throw SystemError(call: "memfd_create", number: errno) }
        return Descriptor(adopting: file)
    }
}
