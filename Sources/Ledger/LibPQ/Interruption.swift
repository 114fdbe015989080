import CLibPQ
import Conversion
import Glibc
import Synchronization

/// Wakes the thread that waits for the server when its task is cancelled.
///
/// Each use of the connection has a ticket. So the cancellation of a task that still waits for its turn does not
/// end the statement of another.
final class Interruption: Sendable {
    typealias Ticket = UInt64

    private struct State {
        var next: Ticket = 0
        var current: Ticket?
        var raised: Set<Ticket> = []
    }

    /// Readable while the current ticket is raised.
    let descriptor: Int32
    private let state = Mutex(State())

    /// Throws `exhausted` if the process has no descriptor left.
    init() throws {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else {
            throw LedgerError(.ledgerExhausted, during: "connect", "this process has too many open files")
        }
    }

    deinit { close(descriptor) }

    /// A ticket for one use of the connection. The caller must `drop` it.
    func take() -> Ticket {
        state.withLock {
            $0.next += 1
            return $0.next
        }
    }

    func drop(_ ticket: Ticket) { state.withLock { _ = $0.raised.remove(ticket) } }

    /// Starts the use of the connection for `ticket`.
    func begin(_ ticket: Ticket) {
        state.withLock {
            $0.current = ticket
            if $0.raised.contains(ticket) { signal() }
        }
    }

    /// Ends the current use of the connection.
    func end() {
        state.withLock {
            $0.current = nil
            var count: UInt64 = 0
            // Fails when nothing was signalled, which is fine.
            _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        }
    }

    /// Interrupts the use of the connection for `ticket`, now or as soon as it begins.
    func raise(_ ticket: Ticket) {
        state.withLock {
            $0.raised.insert(ticket)
            if $0.current == ticket { signal() }
        }
    }

    func isRaised(_ ticket: Ticket) -> Bool { state.withLock { $0.raised.contains(ticket) } }

    private func signal() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then it is readable already.
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
