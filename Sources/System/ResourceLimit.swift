import CSystem

/// What the kernel limits for this process. The administrator's limit, the hard one, cannot be exceeded.
package enum ResourceLimit: String, Sendable {
    case addressSpace = "RLIMIT_AS"
    case coreFile = "RLIMIT_CORE"
    case descriptors = "RLIMIT_NOFILE"
    case fileSize = "RLIMIT_FSIZE"
    case processes = "RLIMIT_NPROC"
    case processorTime = "RLIMIT_CPU"

    private var number: Int32 {
        switch self {
        case .addressSpace: SLUICE_RLIMIT_AS
        case .coreFile: SLUICE_RLIMIT_CORE
        case .descriptors: SLUICE_RLIMIT_NOFILE
        case .fileSize: SLUICE_RLIMIT_FSIZE
        case .processes: SLUICE_RLIMIT_NPROC
        case .processorTime: SLUICE_RLIMIT_CPU
        }
    }

    /// What this process may use now.
    package var current: UInt64 { sluice_soft_limit(number) }

    /// Lowers the limit to `most`, for good. A lower limit of the administrator's stays. Returns whether that succeeded; if
    /// not, `errno` has the reason.
    package func lower(to most: UInt64) -> Bool {
        let limit = min(most, sluice_hard_limit(number))
        return sluice_set_limits(number, limit, limit) == 0
    }

    /// Has neither this process nor those that it starts leave a core dump, which would hold passwords and what others have
    /// sent. The administrator's limit stays, so `prlimit` can permit one.
    package static func forbidCoreDumps() {
        // Cannot fail: a process may lower its limit.
        _ = sluice_set_limits(coreFile.number, 0, sluice_hard_limit(coreFile.number))
    }

    /// Raises the limit to `most`, as far as the administrator allows. Never lowers it.
    package func raise(to most: UInt64) {
        let hard = sluice_hard_limit(number)
        guard sluice_soft_limit(number) < min(most, hard) else { return }
        // Cannot fail: a process may move its limit up to the administrator's.
        _ = sluice_set_limits(number, min(most, hard), hard)
    }
}
