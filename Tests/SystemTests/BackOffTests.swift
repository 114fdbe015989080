import System
import TestSupport
import Testing

/// The waits between tries.
struct BackOffTests {
    @Test func theBoundDoublesUpToTheLongestWait() {
        var backOff = BackOff(first: .milliseconds(50), longest: .milliseconds(300))
        var random = SeededGenerator(seed: 1)
        for bound in [50, 100, 200, 300, 300] {
            #expect(backOff.bound == .milliseconds(bound))
            let wait = backOff.next(using: &random)
            #expect(wait >= .zero && wait <= .milliseconds(bound))
        }
        backOff.reset()
        #expect(backOff.bound == .milliseconds(50))
    }

    @Test func manyTriesDoNotOverflow() {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(5))
        for _ in 0..<10_000 { _ = backOff.next() }
        #expect(backOff.bound == .seconds(5))
    }

    @Test func aCancelledTaskDoesNotWait() async {
        let task = Task {
            var backOff = BackOff(first: .seconds(3_600), longest: .seconds(3_600))
            return await backOff.wait()
        }
        task.cancel()
        #expect(await task.value == false)
    }
}
