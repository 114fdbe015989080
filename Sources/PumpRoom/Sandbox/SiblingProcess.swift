import CSandbox
import Glibc

/// A copy of the calling process, which must have one thread, as a child of the caller's parent.
enum SiblingProcess {
    /// Answers as fork() does: its number, 0 in the copy itself, and -1 with errno where there is none.
    static func fork() -> pid_t { sluice_fork_sibling() }
}
