import Dispatch
import Glibc
import Synchronization
import System

/// An HTTP server on one thread, which owns every connection.
///
/// Tasks make the answers and send them to the thread by its inbox. No other thread touches a connection, so the server
/// has no locks but the inbox's.
package final class Server: Sendable {
    enum Message: Sendable {
        /// The answer to a request.
        case answer(UInt64, HTTPAnswer)
        /// The body of a request is wanted.
        case collect(UInt64, account: String, run: @Sendable ([UInt8]) async -> HTTPAnswer)
        /// A connection that rests may go on.
        case wake(UInt64)
        case stop(@Sendable () -> Void)
    }

    private struct Inbox {
        var messages: [Message] = []
        var isOver = false
    }

    private let inbox = Mutex(Inbox())
    private let bell: SharedDescriptor
    private let sockets: [ListeningSocket]
    /// Where it listens, with the ports that the system chose.
    package let addresses: [ListenAddress]

    /// Listens and starts the thread. Sockets in the file system are for their owner and the group; their folders can
    /// restrict it further. With `isForUserAlone` they are for their owner, and network addresses serve only processes of
    /// this user and of root, on this machine.
    package init(
        _ wanted: [ListenAddress],
        isForUserAlone: Bool = false,
        environment: [String: String],
        limits: ServerLimits = ServerLimits(),
        service: any RequestService
    ) throws(ListenError) {
        var sockets: [ListeningSocket] = []
        let mode: mode_t = isForUserAlone ? 0o600 : 0o660
        for address in wanted {
            sockets += try ListeningSocket.open(address, mode: mode, environment: environment)
        }
        self.sockets = sockets
        addresses = sockets.map(\.address)
        guard let bell = ServerLoop.openBell() else { throw ListenError("open an event descriptor", errno) }
        self.bell = bell
        var limits = limits
        // A connection needs a descriptor, and so do the ledger, files and logs.
        ResourceLimit.descriptors.raise(to: UInt64(limits.connections) + 1_024)
        let descriptors = Int(clamping: ResourceLimit.descriptors.current)
        limits.connections = max(16, min(limits.connections, descriptors - 256))
        let loop = ServerSetup(
            sockets: sockets.map(\.descriptor),
            bell: bell,
            isForUserAlone: isForUserAlone,
            limits: limits,
            service: service
        )
        let started = DispatchSemaphore(value: 0)
        let listens = Mutex(false)
        SystemThread.detach("http") { [self] in
            let server = ServerLoop(self, loop)
            listens.withLock { $0 = server != nil }
            started.signal()
            server?.run()
        }
        started.wait()
        guard listens.withLock({ $0 }) else { throw ListenError("the HTTP library cannot listen") }
    }

    /// Finishes what is under way, for some seconds at most, and closes all connections.
    package func stop() async {
        await withCheckedContinuation { continuation in
            if !post(.stop { continuation.resume() }) { continuation.resume() }
        }
        for socket in sockets { socket.remove() }
    }

    // MARK: - Inbox

    /// Returns false if the server has ended.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (isTaken, isFirst) = inbox.withLock { inbox in
            guard !inbox.isOver else { return (false, false) }
            inbox.messages.append(message)
            return (true, inbox.messages.count == 1)
        }
        if isFirst {
            var one: UInt64 = 1
            _ = retryingInterrupts { write(bell.number, &one, 8) }
        }
        return isTaken
    }

    func takeMessages() -> [Message] {
        var count: UInt64 = 0
        _ = retryingInterrupts { read(bell.number, &count, 8) }
        return inbox.withLock { inbox in
            defer { inbox.messages = [] }
            return inbox.messages
        }
    }

    func end() -> [Message] {
        inbox.withLock { inbox in
            inbox.isOver = true
            defer { inbox.messages = [] }
            return inbox.messages
        }
    }
}

/// What the thread of a server needs to begin.
struct ServerSetup: Sendable {
    let sockets: [SharedDescriptor]
    let bell: SharedDescriptor
    let isForUserAlone: Bool
    let limits: ServerLimits
    let service: any RequestService
}
