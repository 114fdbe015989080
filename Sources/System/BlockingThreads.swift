import Dispatch
import Synchronization

/// Threads for calls that block, as many as there are calls at a time. A thread that has finished its call waits for the
/// next one, so a call rarely starts a thread.
///
/// Dispatch has a limit for the threads of a process, and calls that do not return would use them up.
package final class BlockingThreads: Sendable {
    /// A thread, seen from outside.
    private final class Seat: Sendable {
        private let body = Mutex<(@Sendable () -> Void)?>(nil)
        private let isDue = DispatchSemaphore(value: 0)

        /// Has the thread run `body`, or end if it is `nil`.
        func give(_ body: (@Sendable () -> Void)?) {
            self.body.withLock { $0 = body }
            isDue.signal()
        }

        /// Waits for what to run next; `nil` if the thread must end.
        func next() -> (@Sendable () -> Void)? {
            isDue.wait()
            return body.withLock { $0.take() }
        }
    }

    private let name: String
    /// The threads that wait, the last one to do so at the end.
    private let idle = Mutex<[Seat]>([])
    /// Further threads end when their call is done.
    private static let mostIdle = 64

    /// `name` is the threads'.
    package init(_ name: String) { self.name = name }

    deinit { for seat in idle.withLock({ $0 }) { seat.give(nil) } }

    /// Runs `body` on a thread that does nothing else meanwhile. Returns at once.
    package func run(_ body: @escaping @Sendable () -> Void) {
        let seat = idle.withLock { $0.popLast() } ?? start()
        seat.give(body)
    }

    private func start() -> Seat {
        let seat = Seat()
        // While it waits, the thread holds no reference, so that the owner's end ends it, too.
        SystemThread.detach(name) { [weak self] in
            while let body = seat.next() {
                body()
                guard self?.rest(seat) == true else { return }
            }
        }
        return seat
    }

    /// Returns false if the thread is not needed any more.
    private func rest(_ seat: Seat) -> Bool {
        idle.withLock { idle in
            guard idle.count < Self.mostIdle else { return false }
            idle.append(seat)
            return true
        }
    }
}
