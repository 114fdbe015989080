/// How long to wait between two looks at the ledger.
///
/// The ledger tells by NOTIFY that there is work, not that some has ended: with thousands of ends a second that would cost
/// every worker more than a look costs the command that shows them.
enum LookPause {
    /// Half a second, and so long that looking takes a tenth of the time at most: where thousands end a second, a look has much to
    /// read.
    static func length(after look: Duration, atLeast least: Duration = .milliseconds(500)) -> Duration {
        max(least, look * 9)
    }
}
