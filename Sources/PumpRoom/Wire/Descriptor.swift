import Glibc

/// An open file descriptor, closed when the last reference is released.
final class Descriptor: Sendable {
    /// Callers borrow it; only this object closes it.
    let number: Int32

    /// Takes ownership of `number`; no other code may close it.
    init(adopting number: Int32) { self.number = number }

    deinit { close(number) }

    /// A duplicate with a number above `number`.
    func above(_ number: Int32) throws(SystemError) -> Descriptor {
        let copy = fcntl(self.number, F_DUPFD_CLOEXEC, number + 1)
        guard copy >= 0 else { throw SystemError(call: "fcntl", number: errno) }
        return Descriptor(adopting: copy)
    }

    /// Makes the descriptor non-blocking.
    func stopsWaiting() { _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) }
}

/// A system call that failed.
struct SystemError: Error {
    let call: String
    let number: Int32

    /// `spawn: Cannot allocate memory`
    var text: String { "\(call): \(systemText(number))" }
}

/// A pipe; both ends are close-on-exec.
struct Pipe {
    let reading: Descriptor
    let writing: Descriptor

    static func open() throws(SystemError) -> Pipe {
        var ends: [Int32] = [-1, -1]
        guard GNUFunctions.pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError(call: "pipe", number: errno) }
        return Pipe(reading: Descriptor(adopting: ends[0]), writing: Descriptor(adopting: ends[1]))
    }
}
