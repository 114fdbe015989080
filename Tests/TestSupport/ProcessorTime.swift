import CSystem
import Glibc

/// Processor time of the current thread. Unlike the time on a clock, it does not grow while a busy machine runs other threads.
package enum ProcessorTime {
    /// What `body` returns, and the processor time that it takes. Work on other threads does not count.
    package static func measure<Result>(_ body: () throws -> Result) rethrows -> (result: Result, time: Duration) {
        let before = now
        let result = try body()
        return (result, now - before)
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
