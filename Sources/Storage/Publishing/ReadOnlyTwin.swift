import Glibc

/// A file in writing, opened a second time to read alone: by it the kernel tells whether a writer is left.
///
/// The kernel grants a read lease (F_SETLEASE) only while no open file allows to write: no duplicate of the descriptor in another
/// process, and no shared mapping, which keeps the open file as well. Nothing can be opened to write by a process that has no
/// path to the file, so that one look is enough and the lease is given back at once.
struct ReadOnlyTwin: ~Copyable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    /// The twin of `original`, which is open to write; `nil` where leases do not tell of writers: file systems without them, those
    /// that other machines see (NFS answers by its delegations), files of other users.
    static func of(_ original: Int32) -> ReadOnlyTwin? {
        let opened = retryingInterrupts { open("/proc/self/fd/\(original)", O_RDONLY | O_CLOEXEC, 0) }
        guard opened >= 0 else { return nil }
        let twin = ReadOnlyTwin(descriptor: Descriptor(adopting: opened))
        // While a process opens the file to write, the kernel tells the holder of the lease. SIGIO would end this process; SIGURG is
        // ignored unless it is asked for.
        guard fcntl(opened, KernelFlag.setSignal, SIGURG) == 0 else { return nil }
        // There is a writer now: another answer than this shows that the answer means nothing.
        guard hasWriters(opened) == true else { return nil }
        return twin
    }

    /// Whether a writer is left of the file that `number` was opened to read; `nil` if the kernel does not say.
    static func hasWriters(_ number: Int32) -> Bool? {
        if fcntl(number, KernelFlag.setLease, Int32(F_RDLCK)) == 0 {
            _ = fcntl(number, KernelFlag.setLease, Int32(F_UNLCK))
            return false
        }
        return errno == EAGAIN ? true : nil
    }

    /// Gives the descriptor away: who takes it closes it.
    consuming func release() -> Int32 { descriptor.release() }
}
