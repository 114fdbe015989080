import Dispatch
import Storage
import Synchronization
import System
import Testing

/// File calls of roots that do not answer. A call that waits for a semaphore stands for one that waits in the kernel.
struct FileCallsTests {
    @Test func callOfASilentRootIsGivenUpAndOthersGoOn() async {
        let (calls, silent) = (FileCalls(), Gate())
        async let stuck = calls.run(in: ["silent", "quick"]) { silent.pass() }
        await silent.isReached()
        #expect(await calls.run(in: ["quick"]) { 7 } == 7)
        calls.silence("silent")
        #expect(await stuck == nil)
        #expect(await calls.run(in: ["quick"]) { 7 } == 7)
        silent.open()
    }

    @Test func noCallToASilentRootBegins() async {
        let calls = FileCalls()
        let begun = Mutex(false)
        calls.silence("silent")
        #expect(await calls.run(in: ["silent"]) { begun.withLock { $0 = true } } == nil)
        #expect(begun.withLock { $0 } == false)
        #expect(calls.silent(of: ["silent", "quick"]) == "silent")
        calls.resume("silent")
        #expect(await calls.run(in: ["silent"]) { 7 } == 7)
    }

    @Test func lateCallIsUndoneBeforeItCountsAsReturned() async {
        let (calls, silent) = (FileCalls(), Gate())
        let undone = Mutex(0)
        async let stuck = calls.run(in: ["silent"]) { () -> Int in
            silent.pass()
            return 7
        } late: { value in
            undone.withLock { $0 = value }
        }
        await silent.isReached()
        calls.silence("silent")
        #expect(await stuck == nil)
        silent.open()
        await calls.haveReturned(from: "silent")
        #expect(undone.withLock { $0 } == 7)
    }

    @Test func whatIsLeftForASilentRootWaitsForItsReturn() async {
        let calls = FileCalls()
        let done = Mutex(0)
        calls.silence("silent")
        for _ in 0..<100 { calls.leave(in: ["silent"]) { done.withLock { $0 += 1 } } }
        await calls.haveReturned(from: "silent")
        #expect(done.withLock { $0 } == 0)
        calls.resume("silent")
        await calls.haveReturned(from: "silent")
        #expect(done.withLock { $0 } == 100)
    }

    @Test func stopGivesUpEverything() async {
        let (calls, silent) = (FileCalls(), Gate())
        async let stuck = calls.run(in: ["silent"]) { silent.pass() }
        await silent.isReached()
        calls.stop()
        #expect(await stuck == nil)
        #expect(await calls.run(in: ["quick"]) { 7 } == nil)
        silent.open()
        await calls.settle(within: .seconds(60))
    }
}

/// Holds up one call until it is opened.
private final class Gate: Sendable {
    private let door = DispatchSemaphore(value: 0)
    private let reached = WakeSignal()

    func pass() {
        reached.send()
        door.wait()
    }

    func isReached() async { await reached.wait(since: 0) }

    func open() { door.signal() }
}
