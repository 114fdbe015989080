import Console

/// How long to wait between two looks at the ledger.
///
/// The ledger sends NOTIFY for new work but not for the end of jobs. With thousands of ends a second, such
/// notifications would cost every worker more than a look costs the command that shows them.
enum LookPause {
    /// At least half a second, and long enough that looking takes at most a tenth of the time: where thousands of
    /// jobs end per second, one look reads a lot.
    static func length(after look: Duration, atLeast least: Duration = .milliseconds(500)) -> Duration {
        max(least, look * 9)
    }
}
