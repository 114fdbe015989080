import Glibc
import System

/// A thread that reads keys and reports them. It lives as long as the process.
package enum Keyboard {
    /// The result of a wait for keys.
    package enum Event: Sendable {
        case keys([Key])
        /// The terminal is gone.
        case end
    }

    /// In milliseconds: how long an Escape may be the start of another key's sequence. People do not notice the
    /// delay.
    private static let escapePatience: Int32 = 50

    package static func listen(_ report: @escaping @Sendable (Event) -> Void) {
        SystemThread.detach("keyboard") {
            var reader = KeyReader()
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                if reader.isWaiting, !isReady(within: escapePatience) {
                    let keys = reader.flush()
                    if !keys.isEmpty { report(.keys(keys)) }
                    continue
                }
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                if count > 0 {
                    let keys = reader.take(bytes.prefix(count))
                    if !keys.isEmpty { report(.keys(keys)) }
                } else if count < 0, errno == EINTR {
                    continue
                } else if count < 0, errno == EAGAIN {
                    // Another program left the terminal non-blocking.
                    _ = isReady(within: -1)
                } else {
                    return report(.end)
                }
            }
        }
    }

    private static func isReady(within milliseconds: Int32) -> Bool {
        var waited = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, milliseconds) > 0
    }
}
