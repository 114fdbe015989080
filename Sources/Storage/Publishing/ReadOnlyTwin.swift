import Glibc
import System

/// A second, read-only descriptor of a file being written, by which the kernel tells whether a writer is left.
///
/// The kernel grants a read lease (F_SETLEASE) only while no open file permits writing: no duplicate of the
/// descriptor in another process, and no shared mapping, which keeps the open file as well. A process that has no
/// path to the file cannot open it for writing again, so one check is enough and the lease is returned at once.
struct ReadOnlyTwin: ~Copyable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    /// The twin of `original`, which is open for writing; `nil` where leases do not reveal writers: on file systems
    /// without leases or shared with other machines (NFS answers by its delegations), and for files of other users.
    static func of(_ original: Int32) -> ReadOnlyTwin? {
        let opened = retryingInterrupts { open("/proc/self/fd/\(original)", O_RDONLY | O_CLOEXEC, 0) }
        guard opened >= 0 else { return nil }
        let twin = ReadOnlyTwin(descriptor: Descriptor(adopting: opened))
        // When a process opens the file for writing, the kernel signals the holder of the lease. SIGIO would end
        // this process; SIGURG is ignored by default.
        guard fcntl(opened, SystemFlag.setSignal, SIGURG) == 0 else { return nil }
        // At this point there is a writer: any other answer shows that leases prove nothing here.
        guard hasWriters(opened) == true else { return nil }
        return twin
    }

    /// Whether the file that `number` has open for reading still has a writer; `nil` if the kernel does not say.
    static func hasWriters(_ number: Int32) -> Bool? {
        if fcntl(number, SystemFlag.setLease, Int32(F_RDLCK)) == 0 {
            _ = fcntl(number, SystemFlag.setLease, Int32(F_UNLCK))
            return false
        }
        return errno == EAGAIN ? true : nil
    }

    /// Releases ownership: the caller must close the descriptor.
    consuming func release() -> Int32 { descriptor.release() }
}
