import CSandbox

/// Who may look into this process.
enum ProcessAccess {
    /// Whether other processes of the same user can use this one's folder in /proc. The kernel denies it to all but root after
    /// the process has changed its user.
    static var isOpenToItsUser: Bool { sluice_prctl(PR_GET_DUMPABLE, 0) == 1 }
}
