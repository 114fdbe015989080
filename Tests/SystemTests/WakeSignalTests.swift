import System
import Testing

struct WakeSignalTests {
    @Test func timeThatPassesIsNoSignal() async {
        let signal = WakeSignal()
        let seen = signal.count
        // What waits without a limit goes on waiting.
        let other = Task { await signal.wait(since: seen) }
        let start = ContinuousClock.now
        await signal.wait(since: seen, until: start + .milliseconds(50))
        #expect(.now - start >= .milliseconds(50))
        #expect(signal.count == seen)
        signal.send()
        await other.value
        #expect(signal.count != seen)
    }

    @Test func waitWhoseTimeIsOverEndsAtOnce() async {
        let signal = WakeSignal()
        let start = ContinuousClock.now
        for _ in 0..<1_000 { await signal.wait(since: signal.count, until: start) }
        #expect(.now - start < .seconds(60))
    }

    @Test func signalBeforeTheWaitIsNotMissed() async {
        let signal = WakeSignal()
        let seen = signal.count
        signal.send()
        let start = ContinuousClock.now
        await signal.wait(since: seen, until: start + .seconds(3_600))
        #expect(.now - start < .seconds(600))
    }

    @Test func cancellingEndsAWait() async {
        let signal = WakeSignal()
        let waiting = Task { await signal.wait(since: signal.count, until: .now + .seconds(3_600)) }
        waiting.cancel()
        await waiting.value
        #expect(signal.count == 0)
    }
}
