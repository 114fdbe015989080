import Glibc

/// How urgent a line of a log is, by the numbers of syslog.
package enum LogPriority: Int, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6

    /// The prefix by which the journal of systemd learns the priority: `<4>`.
    package var prefix: String { "<\(rawValue)>" }

    /// Whether standard error is the stream to the journal that JOURNAL_STREAM names, by its device and inode.
    static func isJournal(_ descriptor: Int32, _ environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return false }
        return stream == "\(facts.st_dev):\(facts.st_ino)"
    }
}
