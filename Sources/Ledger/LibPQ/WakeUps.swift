import CLibPQ

/// When to look at the ledger again: as soon as the server notifies of news, and at intervals.
///
/// Several wake-ups that were not taken yet become one. It never ends by itself and never throws: while the database is
/// out of reach, behind PgBouncer or told not to listen, it goes by the clock alone.
struct WakeUps: AsyncSequence, Sendable {
    /// Why to look.
    enum Element: Sendable, Hashable {
        /// The channel carried this text.
        case told(String)
        /// The time for a look has come, or news may have been missed.
        case timePassed
    }

    let configuration: LedgerConfiguration
    let channel: String

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncStream<Element>.AsyncIterator

        mutating func next() async -> Element? { await stream.next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await stream.next(isolation: actor)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let stream = AsyncStream(Element.self, bufferingPolicy: .bufferingNewest(1)) { continuation in
            let listener = Listener(configuration: configuration, channel: channel, wakeUps: continuation)
            let task = Task { await listener.run() }
            continuation.onTermination = { _ in task.cancel() }
        }
        return AsyncIterator(stream: stream.makeAsyncIterator())
    }
}

private struct Listener: Sendable {
    let configuration: LedgerConfiguration
    let channel: String
    let wakeUps: AsyncStream<WakeUps.Element>.Continuation

    /// Ends when the task is cancelled.
    func run() async {
        var listens = configuration.listens
        while !Task.isCancelled {
            let look = ContinuousClock.now + nextLook()
            if listens {
                // Whatever ended it, the clock goes on, and another try is made at the next look.
                do { listens = try await listen(until: look) } catch {}
            }
            do { try await pause(max(look - .now, .zero), "wait for news") } catch { return }
            wakeUps.yield(.timePassed)
        }
    }

    /// Around the interval: a fleet that started together does not look together.
    private func nextLook() -> Duration { configuration.pollInterval * Double.random(in: 0.75...1.25) }

    /// Listens until the connection breaks. False if the server cannot tell us anything.
    ///
    /// One try, which a server that swallows packets cannot draw out past the next look, or a second.
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
        wakeUps.yield(.timePassed)  // for what came before we listened
        while true {
            let look = nextLook()
            // The run's own limit is far away: the end of the wait is no error.
            let texts = try await connection.run("listen", within: look + .seconds(60)) { connection in
                try connection.notifications(within: look)
            }
            if let text = texts.last { wakeUps.yield(.told(text)) } else { wakeUps.yield(.timePassed) }
        }
    }
}

extension Connection {
    /// Whether we speak to the server itself. A pooler makes up a process number, and what it lends us is not ours.
    func isDirect() throws -> Bool {
        let link = try begin(changes: false)
        let told = Int(PQbackendPID(link.pointer))
        return try value("select pg_backend_pid()") == told
    }

    /// The texts sent on the channels listened to; empty if there was none in time. Throws if the connection breaks.
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
