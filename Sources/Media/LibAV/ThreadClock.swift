import CLibAV
import Glibc

/// What the calling thread has used.
enum ThreadClock {
    /// Processor time, in the program and for it in the kernel.
    static func cpu() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
