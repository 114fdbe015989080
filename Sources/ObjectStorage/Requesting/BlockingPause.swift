import Glibc
import WebClient

/// Lets time pass on a thread that may block.
package enum BlockingPause {
    package static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        guard duration > .zero else { return }
        // Back-off between attempts: its callers have threads of their own, and no event ends the wait. The number is at most
        // that of 71 minutes, and pauses are far shorter.
        usleep(UInt32(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }

    /// Has `wait` let the time pass, until `stop` is stopped.
    static func pause(_ duration: Duration, until stop: WebStop?, by wait: (Duration) -> Void) {
        var rest = duration
        // In slices, so that a stop is noticed soon.
        while rest > .zero, stop?.isStopped != true {
            let slice = min(rest, .milliseconds(200))
            wait(slice)
            rest -= slice
        }
    }
}
