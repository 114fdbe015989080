import Glibc
import Testing

@testable import Console

struct SignalListenerTests {
    /// The work may end, and wake the listener, just when the listener gives up.
    @Test func aWakeUpThatWaitsDoesNotEndTheProcessInTheSignalsPlace() async {
        await #expect(processExitsWith: .signal(SIGINT)) {
            let listener = SignalListener([SIGINT])
            listener.wake()
            listener.surrender(to: SIGINT)
        }
    }
}
