import CSystem
import Glibc

/// An open descriptor with one owner, closed when the value is dropped.
package struct Descriptor: ~Copyable {
    package let number: Int32

    /// Takes ownership of `number`; no other code may close it.
    package init(adopting number: Int32) { self.number = number }

    deinit { close(number) }

    /// Releases ownership: the caller must close the descriptor.
    package consuming func release() -> Int32 {
        let released = number
        discard self
        return released
    }
}

/// An open descriptor with several owners, closed when the last reference is released.
package final class SharedDescriptor: Sendable {
    /// Callers borrow it; only this object closes it.
    package let number: Int32

    /// Takes ownership of `number`; no other code may close it.
    package init(adopting number: Int32) { self.number = number }

    deinit { close(number) }

    /// A duplicate of `number` that is at least `lowest`; the caller keeps the original.
    package init(copying number: Int32, from lowest: Int32 = 0) throws(SystemError) {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, lowest)
        guard copy >= 0 else { throw SystemError(call: "fcntl", number: errno) }
        self.number = copy
    }

    /// Makes the descriptor non-blocking.
    package func stopsWaiting() { _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) }
}

/// A pipe; both ends are close-on-exec.
package struct Pipe: Sendable {
    package let reading: SharedDescriptor
    package let writing: SharedDescriptor

    package static func open() throws(SystemError) -> Pipe {
        var ends: [Int32] = [-1, -1]
        // If the flag were set later, a child spawned in between would inherit the pipe.
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError(call: "pipe", number: errno) }
        return Pipe(reading: SharedDescriptor(adopting: ends[0]), writing: SharedDescriptor(adopting: ends[1]))
    }
}
