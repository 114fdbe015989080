import Dispatch
import Ledger
import Synchronization
import System
import WebClient

/// Listens to the events of a coordinator in its own thread, and connects again when the stream ends.
///
/// It trusts nothing that a coordinator sends. It notices only that an event has come, and gives up a stream that is
/// silent, too fast, or not a stream of events. The command then polls the ledger, as it does without events.
package final class CoordinatorListener: ChangeListening {
    /// A coordinator gives a sign of life every fifteen seconds.
    private static let silenceLimit: Duration = .seconds(45)
    /// A coordinator sends one subscriber 448 KiB in a second at most.
    private static let bytesInAMinute = 32 << 20
    /// A stream of that age was a good one: the next try comes soon.
    private static let goodAge: Duration = .seconds(20)
    /// What one stream may be asked for.
    private static let (mostBatches, mostJobs) = (20, 200)

    private let place: CoordinatorPlace
    private let query: [(name: String, value: String)]
    private let onChange: @Sendable () -> Void
    private let stopper = WebStop()
    private let pause = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let isHearing = Mutex(false)

    package init(_ place: CoordinatorPlace, _ wishes: ChangeWishes, onChange: @escaping @Sendable () -> Void) {
        (self.place, self.onChange) = (place, onChange)
        query = Self.query(wishes)
        SystemThread.detach("events") { [self] in
            run()
            ended.signal()
        }
    }

    /// With more batches and jobs than a request may name, it asks for all queues: no job changes its state without a
    /// change in its queue.
    private static func query(_ wishes: ChangeWishes) -> [(name: String, value: String)] {
        func list(_ ids: [Int64]) -> String { ids.map { "\($0)" }.joined(separator: ",") }
        guard wishes != .all, wishes.batches.count <= mostBatches, wishes.jobs.count <= mostJobs else {
            return [("queues", "true")]
        }
        return [("batch", list(wishes.batches)), ("job", list(wishes.jobs))].filter { !$0.1.isEmpty }
    }

    package var isReceiving: Bool { isHearing.withLock { $0 } }

    package func stop() {
        stopper.stop()
        pause.signal()
        // The thread is on its way to its end. At the end of the process no thread may be inside libcurl.
        if ended.wait(timeout: .now() + .seconds(1)) == .success { ended.signal() }
    }

    // MARK: - The thread

    /// What to do after a stream.
    private enum Next {
        case again(after: Duration)
        /// Nothing that can be listened to.
        case never
    }

    private func run() {
        var backOff = BackOff(first: .milliseconds(500), longest: .seconds(30))
        var lastID: String?
        while !stopper.isStopped {
            let begun = ContinuousClock.now
            let next = listen(&lastID)
            let wasHearing = isHearing.withLock { isHearing in
                defer { isHearing = false }
                return isHearing
            }
            if stopper.isStopped { return }
            // The command looks at the ledger once, and finds what has changed since the stream ended.
            if wasHearing { onChange() }
            guard case .again(let wanted) = next else { return }
            if wasHearing, .now - begun > Self.goodAge {
                backOff = BackOff(first: backOff.first, longest: backOff.longest)
            }
            let wait = max(wanted, backOff.next())
            _ = pause.wait(timeout: .now() + .milliseconds(Int(wait / .milliseconds(1))))
        }
    }

    private func listen(_ lastID: inout String?) -> Next {
        // `try?`: without libcurl the command cannot ask either, and its next request says why.
        guard let connection = try? WebConnection() else { return .never }
        var request = CoordinatorConnection.web(
            CoordinatorConnection.Request(path: "/api/v1/events", query: query, operation: "listen to events"),
            at: place
        )
        request.headers.removeAll { $0.name == "Accept" }
        request.headers.append(.init("Accept", "text/event-stream, application/problem+json"))
        if let lastID { request.headers.append(.init("Last-Event-ID", lastID)) }
        request.timeLimit = nil
        request.answerLimit = 64 << 10
        var reader = EventReader()
        var (heardAt, minute, bytes, isForeign) = (ContinuousClock.now, ContinuousClock.now, 0, false)
        let result = Result<WebAnswer, WebError> { () throws(WebError) in
            try connection.send(
                request,
                take: { piece in
                    heardAt = .now
                    if heardAt - minute > .seconds(60) { (minute, bytes) = (heardAt, 0) }
                    bytes += piece.count
                    guard bytes <= Self.bytesInAMinute, let found = reader.take(piece) else {
                        isForeign = true
                        return false
                    }
                    if found.isAlive { self.isHearing.withLock { $0 = true } }
                    if found.changes > 0 { self.onChange() }
                    return true
                },
                stop: stopper,
                isStopped: { .now - heardAt > Self.silenceLimit }
            )
        }
        lastID = reader.lastID ?? lastID
        if isForeign { return .never }
        switch result {
        case .success(let answer):
            switch answer.status {
            case 429, 500...599:
                let seconds = answer.header("Retry-After").flatMap { UInt16($0) }.map { min($0, 300) }
                return .again(after: .seconds(seconds ?? 5))
            // Over: the coordinator stops, or is replaced.
            case 200..<300: return .again(after: .zero)
            // The token is revoked, or the coordinator knows no events. Looks at the ledger say what is wrong.
            default: return .never
            }
        case .failure(let error):
            switch error.kind {
            case .badRequest, .cannotSecure, .forbiddenAddress, .answerTooLong: return .never
            case .cannotResolve, .cannotConnect, .timedOut, .broken, .stopped: return .again(after: .zero)
            }
        }
    }
}

extension RemoteLedger {
    package func listen(to wishes: ChangeWishes, onChange: @escaping @Sendable () -> Void) -> (any ChangeListening)? {
        CoordinatorListener(place, wishes, onChange: onChange)
    }
}
