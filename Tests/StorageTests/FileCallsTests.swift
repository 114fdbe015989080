import Dispatch
import Glibc
import Storage
import Synchronization
import System
import TestSupport
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

    /// A server may answer some calls and not others. A call that goes on is none of those.
    @Test func callThatDoesNotGoOnHoldsUpItsRoots() async throws {
        let (calls, silent) = (FileCalls(), Gate())
        async let stuck = calls.run(in: ["silent", "other"]) {
            FileCalls.touches("other")
            FileCalls.touches("silent")
            silent.pass()
        }
        await silent.isReached()
        #expect(calls.isHeldUp("silent", longerThan: .zero))
        // It is done with that one.
        #expect(!calls.isHeldUp("other", longerThan: .zero) && !calls.isHeldUp("quick", longerThan: .zero))
        #expect(!calls.isHeldUp("silent", longerThan: .seconds(600)))
        silent.open()
        _ = await stuck
        #expect(!calls.isHeldUp("silent", longerThan: .zero))
    }

    @Test func readingALargeFileGoesOn() async throws {
        let folder = try TemporaryFolder.create()
        let root = try StorageRoot.open(name: "root", path: folder.path)
        // More than a block, so that reading says so in between.
        try Bytes.write([UInt8](repeating: 7, count: 600_000), to: folder.path("a"))
        let (calls, place) = (FileCalls(), try Location("root:a"))
        let ages = Mutex<[Bool]>([])
        let fingerprint = await calls.run(in: ["root"]) { () -> Fingerprint? in
            // `try?`: without a file there is no fingerprint.
            try? root.openSource(place).fingerprint {
                ages.withLock { $0.append(calls.isHeldUp("root", longerThan: .milliseconds(200))) }
                // Time in which the call does nothing, as if the disk were slow.
                usleep(250_000)
                return true
            }
        }
        #expect(fingerprint??.byteCount == 600_000)
        // It had gone on just before each look but the first.
        #expect(ages.withLock { $0.dropFirst().filter { !$0 }.count } > 0)
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
