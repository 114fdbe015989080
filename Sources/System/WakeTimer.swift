import CSystem

/// A timer that a thread waits for in `poll`. Its clock is that of `ContinuousClock`: unlike the time limit of `poll`, it
/// counts the time for which the machine was suspended.
package final class WakeTimer: Sendable {
    private let descriptor: SharedDescriptor

    /// `nil` if the kernel has no such timer.
    package init?() {
        let number = sluice_open_timer()
        guard number >= 0 else { return nil }
        descriptor = SharedDescriptor(adopting: number)
    }

    /// Readable from the time that was set last.
    package var pollDescriptor: Int32 { descriptor.number }

    /// Sets the time; `nil` stops the timer.
    package func set(_ time: ContinuousClock.Instant?) {
        guard let time else {
            _ = sluice_set_timer(descriptor.number, 0, 0)
            return
        }
        // A length of 0 would stop the timer.
        let left = max(time - .now, Duration.nanoseconds(1)).components
        // Fails only for numbers that are no times.
        _ = sluice_set_timer(descriptor.number, left.seconds, left.attoseconds / 1_000_000_000)
    }
}
