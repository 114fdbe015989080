import Glibc
import System
import Synchronization

/// A thread reserved for heartbeats, so that they are not delayed when the threads shared by all Swift tasks are busy.
///
/// Tasks that prefer this executor run here. Between their times the thread sleeps: a timer of the kernel wakes it that
/// counts, like leases, the time for which the machine was suspended.
final class PulseThread: TaskExecutor, Sendable {
    private struct Sleeper {
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var jobs: [UnownedJob] = []
        var sleepers: [UInt64: Sleeper] = [:]
        var lastNumber: UInt64 = 0
        var pokes: UInt64 = 0
        /// Pokes and calls to look again.
        var calls: UInt64 = 0
        var isEnded = false
    }

    private let state = Mutex(State())
    /// Wakes the thread.
    private let pipe: Pipe
    /// `nil` if the kernel has none. The thread then looks at the clock every second.
    private let timer = WakeTimer()
    /// When the timer wakes the thread.
    private let timerEnd = Mutex<ContinuousClock.Instant?>(nil)

    /// `name` is the thread's.
    init(_ name: String = "heartbeat") {
        do {
            pipe = try Pipe.open()
        } catch {
            preconditionFailure("a process that starts may open a pipe: \(error.text)")
        }
        pipe.reading.stopsWaiting()
        pipe.writing.stopsWaiting()
        // Between two turns the thread holds no reference, so that the worker's end ends it, too.
        SystemThread.detach(name) { [weak self] in
            while self?.turn() == true {}
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        wake()
    }

    /// The number of pokes so far. Read it before checking the state that the poke is about.
    var pokes: UInt64 { state.withLock { $0.pokes } }

    /// The number of pokes and of calls to look again so far.
    var calls: UInt64 { state.withLock { $0.calls } }

    /// Waits until `end`, a poke, a call to look again, or the task's cancellation. Returns at once if `calls` has grown
    /// since it was `seen`.
    func sleep(until end: ContinuousClock.Instant, since seen: UInt64? = nil) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    if Task.isCancelled || seen.map({ $0 != state.calls }) ?? false { return true }
                    state.sleepers[number] = Sleeper(end: end, continuation: continuation)
                    return false
                }
                if isLate { continuation.resume() } else { wake() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    /// Ends all waits now.
    func poke() { wakeSleepers(isPoke: true) }

    /// Ends all waits, so that those who wait decide again for how long. It is not a poke.
    func lookAgain() { wakeSleepers(isPoke: false) }

    private func wakeSleepers(isPoke: Bool) {
        let sleepers = state.withLock { state in
            if isPoke { state.pokes &+= 1 }
            state.calls &+= 1
            defer { state.sleepers = [:] }
            return Array(state.sleepers.values)
        }
        for sleeper in sleepers { sleeper.continuation.resume() }
    }

    /// Ends the thread once it has no work left.
    func end() {
        state.withLock { $0.isEnded = true }
        wake()
    }

    private func wake() {
        var one: UInt8 = 1
        // If the pipe is full, the thread wakes up anyway.
        _ = write(pipe.writing.number, &one, 1)
    }

    /// One turn of the thread's loop. Returns false if the thread should end.
    private func turn() -> Bool {
        let now = ContinuousClock.now
        let (jobs, due, next, isEnded) = state.withLock { state in
            defer { state.jobs = [] }
            let due = state.sleepers.filter { $0.value.end <= now }
            for number in due.keys { state.sleepers[number] = nil }
            return (state.jobs, Array(due.values), state.sleepers.values.map(\.end).min(), state.isEnded)
        }
        for sleeper in due { sleeper.continuation.resume() }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        guard jobs.isEmpty, due.isEmpty else { return true }
        if isEnded { return false }
        var waited = [pollfd(fd: pipe.reading.number, events: Int16(POLLIN), revents: 0)]
        // While it waits, the thread holds a reference. An owner that is gone without having ended it is noticed then.
        var longest: Int32 = 60_000
        if let timer {
            timerEnd.withLock { end in
                // A time that has passed is no longer the next one. Setting another ends that of the timer.
                if end != next { timer.set(next) }
                end = next
            }
            waited.append(pollfd(fd: timer.pollDescriptor, events: Int16(POLLIN), revents: 0))
        } else {
            let left = next.map { min($0 - now, .seconds(1)) } ?? .seconds(1)
            longest = Int32((left / .milliseconds(1)).rounded(.up))
        }
        poll(&waited, nfds_t(waited.count), longest)
        var scratch = [UInt8](repeating: 0, count: 64)
        _ = read(pipe.reading.number, &scratch, scratch.count)
        return true
    }
}
