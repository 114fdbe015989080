import Glibc

/// Lets time pass on a thread that may block.
package enum BlockingPause {
    package static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        guard duration > .zero else { return }
        usleep(UInt32(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }
}
