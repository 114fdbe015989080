/// How a command ended, for scripts. The numbers are frozen: docs/exit-codes.md lists them for users.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case success = 0
    /// Any other failure; standard error shows what failed.
    case failure = 1
    /// Invalid usage.
    case usage = 2
    /// The work is done, but part of it failed.
    case someFailed = 3
    /// A file, a job or another named thing does not exist.
    case notFound = 4
    /// A service does not answer; a retry may help.
    case unreachable = 5
    case permission = 6
    /// The configuration is wrong, or the ledger must be migrated.
    case configuration = 7
    case waitTimeout = 8
    /// Nothing matched the selection.
    case nothingMatched = 9
    /// Ctrl-C. The process ends by the signal itself, which shells report as 128 + 2.
    case interrupted = 130
    /// SIGTERM, in the same way.
    case terminated = 143

    /// One line for people.
    package var meaning: String {
        switch self {
        case .success: "done"
        case .failure: "failed; standard error gives the reason"
        case .usage: "invalid usage"
        case .someFailed: "completed with failures"
        case .notFound: "a file, job or other item was not found"
        case .unreachable: "a service is unavailable; a retry may help"
        case .permission: "permission denied"
        case .configuration: "invalid configuration, or the ledger needs a migration"
        case .waitTimeout: "timed out"
        case .nothingMatched: "nothing matched"
        case .interrupted: "interrupted by Ctrl-C"
        case .terminated: "terminated by SIGTERM"
        }
    }
}
