import System
import Testing

/// What a lost signal would leave waiting, waits for an hour.
@Suite(.timeLimit(.minutes(15))) struct WakeSignalTests {
    @Test func timeThatPassesIsNoSignal() async {
        let signal = WakeSignal()
        let seen = signal.count
        let (hasBegun, isOver) = (Latest(false), Latest(false))
        let other = Task {
            hasBegun.value = true
            await signal.wait(since: seen)
            isOver.value = true
        }
        while !hasBegun.value { await signal.wait(since: seen, until: .now + .milliseconds(50)) }
        let start = ContinuousClock.now
        await signal.wait(since: seen, until: start + .milliseconds(50))
        #expect(.now - start >= .milliseconds(50))
        #expect(signal.count == seen)
        // What waits without a limit goes on waiting.
        #expect(!isOver.value)
        signal.send()
        await other.value
    }

    @Test func waitWhoseTimeIsOverEndsAtOnce() async {
        let signal = WakeSignal()
        let start = ContinuousClock.now
        for _ in 0..<1_000 { await signal.wait(since: signal.count, until: start) }
        #expect(signal.count == 0)
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
        await signal.wait(since: seen, until: .now + .seconds(3_600))
        #expect(signal.count == 1)
    }

    @Test func cancellingEndsAWait() async {
        let signal = WakeSignal()
        let waiting = Task { await signal.wait(since: signal.count, until: .now + .seconds(3_600)) }
        waiting.cancel()
        await waiting.value
        #expect(signal.count == 0)
    }
}
