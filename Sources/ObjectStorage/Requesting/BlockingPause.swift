import Glibc

/// Lets time pass on a thread that may block.
package enum BlockingPause {
    package static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        guard duration > .zero else { return }
        // Back-off between attempts: its callers have threads of their own, and no event ends the wait. The number is at most
        // that of 71 minutes, and pauses are far shorter.
        usleep(UInt32(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }
}
