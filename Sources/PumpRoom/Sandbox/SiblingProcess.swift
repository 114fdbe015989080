import CSandbox
import Glibc

/// Copies the calling process, which must have one thread, as a child of the caller's parent (`CLONE_PARENT`).
enum SiblingProcess {
    /// Returns what fork() does: the new process id, 0 in the copy, or -1 with errno set.
    static func fork() -> pid_t { sluice_fork_sibling() }
}
