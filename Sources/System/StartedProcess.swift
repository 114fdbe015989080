import Glibc

/// The end of a process that this one has started.
package enum StartedProcess {
    /// How long the kernel may take to end a process that was killed.
    private static let grace: Duration = .seconds(1)

    /// Waits until the process has ended, and reaps it. Returns its status; 0 if the kernel has reaped it, as it does while
    /// SIGCHLD is ignored.
    ///
    /// A process that has not ended after `time` is killed, with its group if it leads one, and the answer is `nil`, at most a
    /// second later. With no time at all it is killed, if it has not ended; the leader of a group is killed with all that it has
    /// left there, also if it has ended.
    package static func end(of id: Int32, within time: Duration, leadsGroup: Bool = false) -> Int32? {
        // A process that the kernel has reaped has given its number away.
        if time > .zero || !leadsGroup, let status = status(of: id, within: time) { return status }
        // Until the process is reaped, no other process or group can have its number.
        kill(leadsGroup ? -id : id, SIGKILL)
        if status(of: id, within: grace) == nil {
            // It waits for a disk that is gone, or runs as another user, so that it could not be killed.
            SystemThread.detach("reap") { _ = retryingInterrupts { waitpid(id, nil, 0) } }
        }
        return nil
    }

    private static func status(of id: Int32, within time: Duration) -> Int32? {
        let deadline: SuspendingClock.Instant = .now + time
        var status: Int32 = 0
        while true {
            let reaped = retryingInterrupts { waitpid(id, &status, WNOHANG) }
            if reaped != 0 { return reaped == id ? status : 0 }
            guard SuspendingClock.now < deadline else { return nil }
            // Poll: a program that has closed its output ends in a moment, and pidfd_open, which would tell, is missing in old
            // kernels and in containers that forbid it.
            usleep(2_000)
        }
    }
}
