import Dispatch
import Glibc
import Synchronization
import System

/// Runs work on a separate thread, while the calling thread shows progress and handles signals.
package enum ForegroundWork {
    /// The result of the work, and the signal that arrived meanwhile, if any.
    package struct Result<Value: Sendable>: Sendable {
        package let value: Value
        package let signal: ExitCode?
    }

    /// How long the work may take to end after the first signal. Some system calls cannot be interrupted: opening a
    /// pipe without a writer, or flushing to a slow disk.
    private static let patience = Duration.seconds(2)

    /// Runs `body`. Calls `onTick` ten times a second, and `onSignal` at the first SIGINT, SIGTERM or SIGHUP.
    ///
    /// A second signal ends the process at once, and so does the end of `patience`. `onSurrender` is called before
    /// that.
    package static func run<Value: Sendable>(
        onTick: () -> Void,
        onSignal: () -> Void,
        onSurrender: (ExitCode) -> Void = { _ in },
        _ body: @escaping @Sendable () -> Value
    ) -> Result<Value> {
        // Block the signals before the thread starts: it inherits the mask, so every signal arrives at this thread.
        let listener = SignalListener([SIGINT, SIGTERM, SIGHUP])
        let work = WorkThread(body, telling: listener)
        let clock = ContinuousClock()
        var first: (signal: Int32, time: ContinuousClock.Instant)?
        func code(of signal: Int32) -> ExitCode { signal == SIGINT ? .interrupted : .terminated }
        func surrender(to signal: Int32) -> Never {
            onSurrender(code(of: signal))
            listener.surrender(to: signal)
        }
        while true {
            let number = listener.wait(milliseconds: 100)
            if let value = work.valueIfDone() {
                return Result(value: value, signal: first.map { code(of: $0.signal) })
            }
            if let first, clock.now - first.time > patience { surrender(to: first.signal) }
            switch number {
            case nil, listener.wakeUp:
                onTick()
            case let number?:
                // A hangup of the terminal ends the work too.
                let signal = number == SIGINT ? SIGINT : SIGTERM
                if first != nil { surrender(to: signal) }
                first = (signal, clock.now)
                onSignal()
            }
        }
    }
}

extension ForegroundWork {
    /// The same for asynchronous work, which the first signal cancels.
    package static func run<Value: Sendable>(
        onTick: () -> Void = {},
        _ body: @escaping @Sendable () async -> Value
    ) -> Result<Value> {
        let task = Mutex<Task<Void, Never>?>(nil)
        let isStopped = Mutex(false)
        return run(
            onTick: onTick,
            onSignal: {
                isStopped.withLock { $0 = true }
                task.withLock { $0?.cancel() }
            },
            {
                let (done, value) = (DispatchSemaphore(value: 0), Answer<Value>())
                let started = Task {
                    let answer = await body()
                    value.box.withLock { $0 = answer }
                    done.signal()
                }
                task.withLock { $0 = started }
                if isStopped.withLock({ $0 }) { started.cancel() }
                done.wait()
                return value.box.withLock { $0! }
            }
        )
    }

    private final class Answer<Value: Sendable>: Sendable {
        let box = Mutex<Value?>(nil)
    }
}

extension ForegroundWork {
    /// Runs a service until a signal ends it. Calls `onSignal` at each SIGINT, SIGTERM or SIGHUP, with the count so
    /// far; the third ends the process, even if the service hangs.
    package static func serve<Value: Sendable>(
        onSignal: (Int) -> Void,
        _ body: @escaping @Sendable () async -> Value
    ) -> Value {
        let listener = SignalListener([SIGINT, SIGTERM, SIGHUP])
        let work = WorkThread({ TaskResult.wait(for: body) }, telling: listener)
        var count = 0
        while true {
            // The end of the work is a signal, too: it stays pending until it is waited for.
            let number = listener.wait()
            if let value = work.valueIfDone() { return value }
            guard let number, number != listener.wakeUp else { continue }
            count += 1
            if count == 3 { listener.surrender(to: number) }
            onSignal(count)
        }
    }
}

/// Waits for signals synchronously, instead of handling them asynchronously.
package final class SignalListener: Sendable {
    /// The signal that another thread sends to end a wait.
    let wakeUp = SIGUSR2
    private let listener = pthread_self()
    private let before: sigset_t
    private let listened: sigset_t

    package init(_ numbers: [Int32]) {
        var (listened, before) = (sigset_t(), sigset_t())
        sigemptyset(&listened)
        // Signals that the process was started with ignored stay ignored, as `nohup` and a shell's background jobs
        // need.
        for number in numbers.filter({ !Self.isIgnored($0) }) + [wakeUp] { sigaddset(&listened, number) }
        pthread_sigmask(SIG_BLOCK, &listened, &before)
        (self.listened, self.before) = (listened, before)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    deinit {
        // A wake-up that is still pending would end the process as soon as it is unblocked.
        var (left, now, before) = (sigset_t(), WaitTime.milliseconds(0), before)
        sigemptyset(&left)
        sigaddset(&left, wakeUp)
        while sigtimedwait(&left, nil, &now) == wakeUp {}
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// The next signal; `nil` if none arrives in that time.
    package func wait(milliseconds: Int) -> Int32? {
        var listened = listened
        var longest = WaitTime.milliseconds(milliseconds)
        let number = sigtimedwait(&listened, nil, &longest)
        return number > 0 ? number : nil
    }

    /// The next signal, however long it takes; `nil` if the wait was interrupted.
    package func wait() -> Int32? {
        var listened = listened
        let number = sigwaitinfo(&listened, nil)
        return number > 0 ? number : nil
    }

    package func wake() { pthread_kill(listener, wakeUp) }

    /// Lets the signal take its default effect.
    package func surrender(to number: Int32) -> Never {
        // Unblock only this signal: a pending wake-up would end the process in its place.
        var ending = sigset_t()
        sigemptyset(&ending)
        sigaddset(&ending, number)
        Glibc.signal(number, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, &ending, nil)
        raise(number)
        exit(128 + number)
    }
}

/// A time in which no signal of the user ends the process.
package enum SignalHold {
    /// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread while `body` runs. A signal that arrives meanwhile is
    /// given to the next listener of the thread; without one it takes its effect at the end.
    package static func during<Value>(_ body: () throws -> Value) rethrows -> Value {
        var (held, before) = (sigset_t(), sigset_t())
        sigemptyset(&held)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&held, number) }
        pthread_sigmask(SIG_BLOCK, &held, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }
}

/// A thread with a stack as large as the main thread's, which decoders expect.
struct WorkThread<Value: Sendable> {
    private let result = Box()
    private let thread: SystemThread

    private final class Box: Sendable {
        let value = Mutex<Value?>(nil)
    }

    init(_ body: @escaping @Sendable () -> Value, telling listener: SignalListener) {
        thread = SystemThread("work", stackBytes: 8 << 20) { [result] in
            let value = body()
            result.value.withLock { $0 = value }
            listener.wake()
        }
    }

    /// The result, once the work is done; joins the thread then. `nil` before.
    func valueIfDone() -> Value? {
        guard let value = result.value.withLock({ $0 }) else { return nil }
        thread.join()
        return value
    }
}
