import CLibPQ
import Synchronization

/// Signals to look at the ledger again: when the server sends a notification, and at intervals.
///
/// Wake-ups that the consumer has not yet taken merge into one, which has the payloads of all. The sequence never ends by
/// itself and never throws.
/// While it cannot listen (the database is out of reach, PgBouncer stands between, or the configuration forbids
/// it), only the clock triggers it.
struct WakeUps: AsyncSequence, Sendable {
    /// Why to look.
    enum Element: Sendable, Hashable {
        /// Notifications with these payloads arrived.
        case notified(Set<String>)
        /// The interval has passed, or notifications may have been missed.
        case timePassed
    }

    let configuration: LedgerConfiguration
    let channel: String
    var pace = SignalPace()

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncStream<Void>.AsyncIterator
        fileprivate let untaken: UntakenWakeUps

        mutating func next() async -> Element? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while await stream.next(isolation: actor) != nil {
                if let element = untaken.take() { return element }
            }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let untaken = UntakenWakeUps()
        let stream = AsyncStream(Void.self, bufferingPolicy: .bufferingNewest(1)) { continuation in
            let listener = Listener(configuration: configuration, channel: channel, pace: pace) { element in
                untaken.add(element)
                continuation.yield()
            }
            let task = Task { await listener.run() }
            continuation.onTermination = { _ in task.cancel() }
        }
        return AsyncIterator(stream: stream.makeAsyncIterator(), untaken: untaken)
    }
}

/// The wake-ups since the consumer last took one, merged.
private final class UntakenWakeUps: Sendable {
    private let merged = Mutex<WakeUps.Element?>(nil)

    func add(_ element: WakeUps.Element) {
        merged.withLock { merged in
            switch (merged, element) {
            case (.notified(let earlier), .notified(let texts)): merged = .notified(earlier.union(texts))
            case (.notified, .timePassed): break
            case (.timePassed, _), (nil, _): merged = element
            }
        }
    }

    /// `nil` if the last call has taken all.
    func take() -> WakeUps.Element? {
        merged.withLock { merged in
            defer { merged = nil }
            return merged
        }
    }
}

private struct Listener: Sendable {
    let configuration: LedgerConfiguration
    let channel: String
    let pace: SignalPace
    let wake: @Sendable (WakeUps.Element) -> Void

    /// Returns when the task is cancelled.
    func run() async {
        var listens = configuration.listens
        while !Task.isCancelled {
            let look = ContinuousClock.now + nextLook()
            if listens {
                // However listening ended, the clock goes on and the next look tries again.
                do { listens = try await listen(until: look) } catch {}
                pace.note(isListening: false)
            }
            do { try await pause(max(look - .now, .zero), "wait for notifications") } catch { return }
            wake(.timePassed)
        }
    }

    /// The interval with jitter, so that workers that started together do not look together.
    private func nextLook() -> Duration { configuration.pollInterval * Double.random(in: 0.75...1.25) }

    /// Listens until the connection breaks. False if the server cannot send notifications to this connection.
    ///
    /// Makes one try to connect. A server that drops packets cannot delay it past the next look, or past a second.
    private func listen(until look: ContinuousClock.Instant) async throws -> Bool {
        let limit = max(look - .now, .seconds(1))
        let connection = try await Connection.openOnce(configuration, for: "listen", within: limit)
        let channel = channel
        let isDirect = try await connection.run("listen", within: configuration.operationTimeout) { connection in
            guard try connection.isDirect() else { return false }
            try connection.execute("listen \(name: channel)")
            return true
        }
        guard isDirect else { return false }
        pace.note(isListening: true)
        wake(.timePassed)  // covers notifications from before we listened
        while true {
            let look = pace.next(nextLook())
            // The run's own limit is far away, so the end of the wait is not an error.
            let texts = try await connection.run("listen", within: look + .seconds(60)) { connection in
                try connection.notifications(within: look)
            }
            if !texts.isEmpty { pace.noteNotification() }
            wake(texts.isEmpty ? .timePassed : .notified(Set(texts)))
        }
    }
}

extension Connection {
    /// Whether we are connected to the server itself. A pooler invents a process number and switches server
    /// connections.
    func isDirect() throws -> Bool {
        let link = try begin(changes: false)
        let told = Int(PQbackendPID(link.pointer))
        return try value("select pg_backend_pid()") == told
    }

    /// The payloads of notifications on this connection's channels; empty if none came in time. Throws if the
    /// connection breaks.
    func notifications(within limit: Duration) throws -> [String] {
        let link = try begin(changes: false)
        let deadline = ContinuousClock.now + limit
        while true {
            try checkIsThere(link)
            _ = PQisBusy(link.pointer)
            var texts: [String] = []
            while let notice = PQnotifies(link.pointer) {
                texts.append(String(cString: notice.pointee.extra))
                PQfreemem(notice)
            }
            guard texts.isEmpty, try isReadable(link, until: deadline) else { return texts }
        }
    }
}
