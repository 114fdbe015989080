import Glibc
import Synchronization

/// The two ends of a pipe; what is still open is closed when the last reference goes.
public final class OpenPipe: Sendable {
    /// -1 marks an end that is closed or given away.
    private let ends: Mutex<(reading: Int32, writing: Int32)>

    private init(reading: Int32, writing: Int32) { ends = Mutex((reading, writing)) }

    deinit {
        closeReading()
        closeWriting()
    }

    /// A new pipe; children do not inherit it.
    public static func open() throws -> OpenPipe {
        var pair: [Int32] = [-1, -1]
        guard GNUFunctions.pipe2(&pair, O_CLOEXEC) == 0 else { throw SupportError("open a pipe", errno: errno) }
        return OpenPipe(reading: pair[0], writing: pair[1])
    }

    /// The descriptor to read from, -1 once closed or taken.
    public var reading: Int32 { ends.withLock { $0.reading } }

    /// The descriptor to write to, -1 once closed or taken.
    public var writing: Int32 { ends.withLock { $0.writing } }

    /// Gives the reading end away: who takes it closes it.
    public func takeReading() -> Int32 { ends.withLock { take(&$0.reading) } }

    /// Gives the writing end away: who takes it closes it.
    public func takeWriting() -> Int32 { ends.withLock { take(&$0.writing) } }

    /// Closes the reading end, if it is still here: writers then get EPIPE.
    public func closeReading() {
        let descriptor = takeReading()
        if descriptor >= 0 { close(descriptor) }
    }

    /// Closes the writing end, if it is still here: readers then come to an end.
    public func closeWriting() {
        let descriptor = takeWriting()
        if descriptor >= 0 { close(descriptor) }
    }

    private func take(_ end: inout Int32) -> Int32 {
        defer { end = -1 }
        return end
    }
}

/// Calls `body` so that writing to a pipe without a reader answers EPIPE and kills nobody.
///
/// SIGPIPE goes to the thread that wrote: it is blocked there alone, and one that came is taken back. Linux
/// sends it also with a write that was cut short by the reader's going, so success is no reason not to look.
package func withoutPipeSignal(_ body: () -> Int) -> Int {
    var pipeSignal = sigset_t()
    sigemptyset(&pipeSignal)
    sigaddset(&pipeSignal, SIGPIPE)
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
    let answer = body()
    let problem = errno
    if sigismember(&before, SIGPIPE) == 0 {
        var now = timespec()
        _ = sigtimedwait(&pipeSignal, nil, &now)
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    errno = problem
    return answer
}
