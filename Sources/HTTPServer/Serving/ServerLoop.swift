import CMicroHTTPD
import Glibc
import System

/// The thread of a server: waits for the library's connections and for the inbox, and moves each request through its
/// phases.
///
/// The library runs in external epoll mode, with one daemon for each socket that it listens on. With threads of its own it
/// would call the handler from any of them; and polling it skips ready connections while others are suspended.
final class ServerLoop {
    let server: Server
    let setup: ServerSetup
    private var daemons: [OpaquePointer] = []
    private var epoll: Int32 = -1
    var exchanges: [UInt64: Exchange] = [:]
    private var visitors: [Int32: Visitor] = [:]
    /// Connections that were cut, and that the library has not closed yet.
    private var cutCount = 0
    /// Whether a connection was closed when there were as many as there may be.
    private var wasFull = false
    private var lastNumber: UInt64 = 0
    /// Tells whose process has connected; `nil` if that does not matter.
    private let peers: LocalPeers?
    /// Bytes of all bodies that are being collected.
    var collectedBytes = 0
    /// The same of each account.
    var collectedByAccount: [String: Int] = [:]
    private var onStopped: [@Sendable () -> Void] = []
    private var stopsAt: ContinuousClock.Instant?
    /// Whether the daemons are being stopped. No connection may rest then: the library would abort the process.
    private(set) var isStopping = false

    var limits: ServerLimits { setup.limits }

    static func openBell() -> SharedDescriptor? {
        let number = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        return number < 0 ? nil : SharedDescriptor(adopting: number)
    }

    /// `nil` if the library cannot listen.
    init?(_ server: Server, _ setup: ServerSetup) {
        (self.server, self.setup) = (server, setup)
        peers = setup.isForUserAlone ? LocalPeers() : nil
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0, watch(setup.bell.number) else { return nil }
        for socket in setup.sockets {
            // The library closes its socket when it stops.
            let copy = fcntl(socket.number, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0, let daemon = start(copy) else { return nil }
            daemons.append(daemon)
            guard watch(sluice_epoll_descriptor(daemon)) else { return nil }
        }
    }

    func visitor(at socket: Int32) -> Visitor? { visitors[socket] }

    private func watch(_ descriptor: Int32) -> Bool {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    private func start(_ socket: Int32) -> OpaquePointer? {
        let context = Unmanaged.passUnretained(self).toOpaque()
        func option(_ name: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil) -> MHD_OptionItem {
            MHD_OptionItem(option: name, value: value, ptr_value: pointer)
        }
        // The library takes its callbacks as integers of a pointer's size. Their types are those that it calls.
        var options = [
            option(.LISTEN_SOCKET, Int(socket)),
            option(.CONNECTION_LIMIT, limits.connections),
            option(.CONNECTION_TIMEOUT, Int(limits.patience.components.seconds)),
            option(.CONNECTION_MEMORY_LIMIT, limits.headerBytes),
            option(.STRICT_FOR_CLIENT, 1),
            option(.URI_LOG_CALLBACK, unsafeBitCast(ServerCallbacks.begin, to: Int.self), context),
            option(.NOTIFY_COMPLETED, unsafeBitCast(ServerCallbacks.complete, to: Int.self), context),
            option(.NOTIFY_CONNECTION, unsafeBitCast(ServerCallbacks.visit, to: Int.self), context),
            option(.END, 0),
        ]
        let flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        return sluice_start_daemon(flags, ServerCallbacks.handle, context, &options)
    }

    // MARK: - Waiting

    func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 16)
        var nextTick = ContinuousClock.now
        while true {
            // At its limit the library stops accepting, and begins again only in the run after the one that has closed
            // connections.
            let wait = wasFull ? 0 : waitTime(until: nextTick)
            wasFull = false
            _ = epoll_wait(epoll, &events, Int32(events.count), Int32(clamping: wait))
            for message in server.takeMessages() { take(message) }
            for daemon in daemons { MHD_run(daemon) }
            let now = ContinuousClock.now
            if now >= nextTick {
                cutLateVisitors(now)
                cutSlowBodies(now)
                nextTick = now + .seconds(1)
            }
            if let stopsAt, exchanges.isEmpty || now >= stopsAt { return stop() }
        }
    }

    /// Milliseconds until the library or the clock needs a turn; -1 if only events matter, because nothing is connected.
    /// The library's own time must be honoured, because its descriptor is edge-triggered.
    private func waitTime(until tick: ContinuousClock.Instant) -> Int64 {
        let needsClock = !visitors.isEmpty || !exchanges.isEmpty || stopsAt != nil
        var wait = needsClock ? max(0, Int64((tick - .now) / .milliseconds(1)) + 1) : -1
        for daemon in daemons {
            var own: UInt64 = 0
            guard MHD_get_timeout(daemon, &own) == .YES else { continue }
            wait = wait < 0 ? Int64(clamping: own) : min(wait, Int64(clamping: own))
        }
        return wait
    }

    /// Cuts connections whose request has not come, or comes too slowly. The library's own limit is for silence alone, so a
    /// client that sends one byte now and then would keep a connection for ever.
    private func cutLateVisitors(_ now: ContinuousClock.Instant) {
        for visitor in visitors.values {
            guard let deadline = visitor.deadline, deadline < now else { continue }
            cut(visitor)
        }
    }

    private func cut(_ visitor: Visitor) {
        visitor.deadline = nil
        guard !visitor.isCut else { return }
        visitor.isCut = true
        cutCount += 1
        // The library sees the end and closes it.
        shutdown(visitor.socket, Int32(SHUT_RDWR))
    }

    /// Why a connection is not served; `nil` if it is. Sockets in the file system have a mode.
    func refusal(of socket: Int32) -> String? {
        guard let peers, ClientNetwork.text(of: socket) != "" else { return nil }
        guard let user = peers.user(of: socket) else { return "the system does not say whose process has connected" }
        return user == geteuid() || user == 0 ? nil : "the process that has connected belongs to another user"
    }

    func add(_ visitor: Visitor) {
        remove(visitor.socket)
        visitors[visitor.socket] = visitor
        makeRoom()
    }

    func remove(_ socket: Int32) {
        guard let visitor = visitors.removeValue(forKey: socket) else { return }
        if visitor.isCut { cutCount -= 1 }
        if visitors.count >= limits.connections - 1 { wasFull = true }
    }

    /// Cuts idle connections before there are as many as there may be, because then new ones would not even be accepted:
    /// those of the network that has the most, the oldest first.
    private func makeRoom() {
        let excess = visitors.count - cutCount - (limits.connections - limits.spareConnections)
        guard excess > 0 else { return }
        // Several at once, so that this look at all connections is rare.
        var left = excess + limits.spareConnections / 4
        let networks = Dictionary(grouping: visitors.values.lazy.filter { !$0.isCut }, by: \.network).values
        for members in networks.sorted(by: { $0.count > $1.count }) where left > 0 {
            // With the time at which it would be cut anyway, which comes first for the oldest.
            var idle: [(end: ContinuousClock.Instant, visitor: Visitor)] = []
            for visitor in members {
                if let end = visitor.deadline { idle.append((end, visitor)) }
            }
            idle.sort { $0.end < $1.end }
            // At most half of them, so that other networks with many lose some as well.
            for (_, visitor) in idle.prefix(min(left, max(1, members.count / 2))) {
                cut(visitor)
                left -= 1
            }
        }
    }

    /// Cuts connections whose body, which a task reads, arrives more slowly than is allowed, or not at all because the
    /// client has left.
    private func cutSlowBodies(_ now: ContinuousClock.Instant) {
        for exchange in exchanges.values {
            guard let pace = exchange.pace, !exchange.isSuspended, let connection = exchange.connection else {
                continue
            }
            let socket = sluice_connection_socket(connection)
            var byte: UInt8 = 0
            // The library sometimes misses an end that comes while a connection is suspended. What it has read already
            // is handled by the next look.
            let hasEnd = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
            if hasEnd, pace.bytesAtEnd == pace.bytes { shutdown(socket, Int32(SHUT_RDWR)) }
            exchange.pace?.bytesAtEnd = hasEnd ? pace.bytes : nil
            guard now - pace.since > limits.patience else { continue }
            let least = limits.leastBytesPerSecond * Int(limits.patience.components.seconds)
            if pace.bytes < least { shutdown(socket, Int32(SHUT_RDWR)) }
            exchange.pace = Pace(since: now)
        }
    }

    // MARK: - Messages

    private func take(_ message: Server.Message) {
        switch message {
        case .answer(let number, let answer):
            guard let exchange = exchanges[number] else { return answer.drop() }
            if case .streaming(let body) = exchange.phase {
                body.abandon()
                if answer.cutsBody, !exchange.isComplete, let visitor = visitor(exchange.connection) { cut(visitor) }
            }
            exchange.phase = .answered(answer)
            resume(exchange)
        case .collect(let number, let account, let run):
            guard let exchange = exchanges[number] else { return }
            collect(exchange, account: account, run)
            resume(exchange)
        case .wake(let number):
            if let exchange = exchanges[number] { resume(exchange) }
        case .stop(let onStopped):
            self.onStopped.append(onStopped)
            guard stopsAt == nil else { return }
            stopsAt = .now + .seconds(5)
            for daemon in daemons {
                // The socket is a copy, which is ours again.
                let socket = MHD_quiesce_daemon(daemon)
                if socket >= 0 { close(socket) }
            }
            for exchange in exchanges.values {
                if case .sending = exchange.phase { channel(of: exchange)?.end() }
            }
        }
    }

    private var channels: [UInt64: EventChannel] = [:]

    func channel(of exchange: Exchange) -> EventChannel? { channels[exchange.number] }

    func keep(_ channel: EventChannel, for exchange: Exchange) { channels[exchange.number] = channel }

    func suspend(_ exchange: Exchange) {
        guard !isStopping, !exchange.isSuspended, let connection = exchange.connection else { return }
        exchange.isSuspended = true
        MHD_suspend_connection(connection)
    }

    private func resume(_ exchange: Exchange) {
        guard exchange.isSuspended, let connection = exchange.connection else { return }
        exchange.isSuspended = false
        // The client could send nothing meanwhile.
        if exchange.pace != nil { exchange.pace = Pace() }
        MHD_resume_connection(connection)
    }

    private func stop() {
        isStopping = true
        for exchange in exchanges.values {
            exchange.task?.cancel()
            channels[exchange.number]?.end()
            if case .streaming(let body) = exchange.phase { body.finish(isComplete: false) }
            resume(exchange)
        }
        for daemon in daemons {
            MHD_run(daemon)
            MHD_stop_daemon(daemon)
        }
        close(epoll)
        for message in server.end() { if case .stop(let onStopped) = message { self.onStopped.append(onStopped) } }
        for stopped in onStopped { stopped() }
    }

    // MARK: - Connections and exchanges

    func begin(_ target: String) -> Exchange {
        lastNumber += 1
        let exchange = Exchange(lastNumber, target: target)
        exchanges[lastNumber] = exchange
        return exchange
    }

    func end(_ exchange: Exchange) {
        exchange.connection = nil
        exchange.task?.cancel()
        dropBody(of: exchange)
        if case .streaming(let body) = exchange.phase { body.finish(isComplete: false) }
        if case .answered(let answer) = exchange.phase { answer.drop() }
        channels.removeValue(forKey: exchange.number)?.close()
        exchanges[exchange.number] = nil
    }

    /// Runs `make` in a task, and posts its answer.
    func answer(_ exchange: Exchange, _ make: @escaping @Sendable () async -> HTTPAnswer) {
        let (server, number) = (server, exchange.number)
        exchange.task = Task {
            let answer = await make()
            server.post(.answer(number, answer))
        }
    }
}
