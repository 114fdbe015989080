import CSystem
import Glibc
import Synchronization

/// The two ends of a pipe. The last reference closes the ends that are still open.
public final class OpenPipe: Sendable {
    /// An end is -1 once it is closed or taken.
    private let ends: Mutex<(reading: Int32, writing: Int32)>

    private init(reading: Int32, writing: Int32) { ends = Mutex((reading, writing)) }

    deinit {
        closeReading()
        closeWriting()
    }

    /// Creates a pipe that children do not inherit.
    public static func open() throws -> OpenPipe {
        var pair: [Int32] = [-1, -1]
        guard pipe2(&pair, O_CLOEXEC) == 0 else { throw SupportError("open a pipe", errno: errno) }
        return OpenPipe(reading: pair[0], writing: pair[1])
    }

    /// The descriptor to read from, or -1 once it is closed or taken.
    public var reading: Int32 { ends.withLock { $0.reading } }

    /// The descriptor to write to, or -1 once it is closed or taken.
    public var writing: Int32 { ends.withLock { $0.writing } }

    /// Gives up ownership of the reading end: the caller must close it.
    public func takeReading() -> Int32 { ends.withLock { take(&$0.reading) } }

    /// Gives up ownership of the writing end: the caller must close it.
    public func takeWriting() -> Int32 { ends.withLock { take(&$0.writing) } }

    /// Closes the reading end if it is still owned here; writers then get EPIPE.
    public func closeReading() {
        let descriptor = takeReading()
        if descriptor >= 0 { close(descriptor) }
    }

    /// Closes the writing end if it is still owned here; readers then reach the end of the data.
    public func closeWriting() {
        let descriptor = takeWriting()
        if descriptor >= 0 { close(descriptor) }
    }

    private func take(_ end: inout Int32) -> Int32 {
        defer { end = -1 }
        return end
    }
}

/// Calls `body` so that writing to a pipe without a reader returns EPIPE and does not kill the process.
///
/// Linux sends SIGPIPE to the thread that wrote, so blocking it in this thread is enough; a pending one is
/// consumed afterwards. Linux also sends it with a partial write that ended because the reader closed, so the
/// check runs after success too.
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
