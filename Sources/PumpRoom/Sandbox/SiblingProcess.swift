import CSandbox

/// Copies the calling process, which must have one thread, as a child of the caller's parent (`CLONE_PARENT`).
package enum SiblingProcess {
    /// Returns what fork() does: the new process id, 0 in the copy, or -1 with errno set.
    package static func fork() -> Int32 { sluice_fork_sibling() }
}
