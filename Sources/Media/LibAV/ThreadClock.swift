import CLibAV
import Glibc

/// The processor clock of the calling thread.
enum ThreadClock {
    /// Processor time used so far, in user and kernel mode.
    static func cpu() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
