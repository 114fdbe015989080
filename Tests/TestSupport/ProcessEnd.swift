import CSystem
import Glibc

/// The end of a process as an event: of a child or of any other process.
package final class ProcessEnd: Sendable {
    /// A pidfd, readable once the process has ended; -1 if there was no such process.
    package let descriptor: Int32

    package init(of process: Int32) {
        descriptor = sluice_pidfd_open(process)
        precondition(descriptor >= 0 || errno == ESRCH, "pidfd_open: errno \(errno)")
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Waits until the process has ended. Returns whether it has; a zombie has ended.
    package func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        guard descriptor >= 0 else { return true }
        while true {
            var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&waited, 1, ChildProcess.milliseconds(until: deadline))
            if count > 0 { return true }
            if count == 0 { return false }
            precondition(errno == EINTR, "poll: errno \(errno)")
        }
    }
}
