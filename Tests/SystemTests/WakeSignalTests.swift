import Synchronization
import System
import Testing

struct WakeSignalTests {
    @Test func timeThatPassesIsNoSignal() async {
        let signal = WakeSignal()
        let seen = signal.count
        let isOver = Mutex(false)
        let other = Task {
            await signal.wait(since: seen)
            isOver.withLock { $0 = true }
        }
        let start = ContinuousClock.now
        await signal.wait(since: seen, until: start + .milliseconds(50))
        #expect(.now - start >= .milliseconds(50))
        #expect(signal.count == seen)
        // What waits without a limit goes on waiting.
        let isOtherOver = isOver.withLock { $0 }
        #expect(!isOtherOver)
        signal.send()
        await other.value
    }

    @Test func waitWhoseTimeIsOverEndsAtOnce() async {
        let signal = WakeSignal()
        let start = ContinuousClock.now
        for _ in 0..<1_000 { await signal.wait(since: signal.count, until: start) }
        #expect(.now - start < .seconds(600))
    }

    /// Whichever of the two comes first, the wait or its end, the wait ends.
    @Test func waitsOfNoLengthAllEnd() async {
        let signal = WakeSignal()
        await withDiscardingTaskGroup { group in
            for number in 0..<2_000 {
                group.addTask {
                    await signal.wait(since: 0, until: .now + .microseconds(number % 20))
                }
            }
        }
        #expect(signal.count == 0)
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
