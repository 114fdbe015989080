import Synchronization

/// Signals to look for work: when the ledger sends a notification, and at intervals.
///
/// Never ends and never throws. While it cannot listen to the database, only the clock triggers it. Signals that
/// the consumer has not yet taken merge into one.
public struct WorkSignals: AsyncSequence, Sendable {
    let wakeUps: WakeUps

    /// Why to look for work.
    public enum Signal: Sendable, Hashable {
        /// Jobs were submitted or released: look for work.
        case work
        /// Running jobs were cancelled, perhaps this worker's: send a beat, and look for work.
        case cancellation
        /// A webhook was created. Perhaps the interval has passed as well.
        case webhook
        /// The interval has passed.
        case timePassed
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        var wakeUps: WakeUps.AsyncIterator

        public mutating func next() async -> Signal? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Signal? {
            switch await wakeUps.next(isolation: actor) {
            case .notified(let texts): Signal(texts)
            case .timePassed: .timePassed
            case nil: nil
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(wakeUps: wakeUps.makeAsyncIterator()) }
}

extension WorkSignals.Signal {
    fileprivate init(_ texts: Set<String>) {
        let forWorkers = texts.subtracting(["webhooks"])
        // A notification that this build does not know may be as urgent as a cancellation.
        self = forWorkers.isEmpty ? .webhook : forWorkers == ["jobs"] ? .work : .cancellation
    }
}

/// How often `WorkSignals` has a process look for work while the server sends it notifications.
public final class SignalPace: Sendable {
    private struct State {
        var count: UInt64 = 0
        var isListening = false
        var isSlow = false
    }

    private let state = Mutex(State())
    /// How many times longer a slow interval is.
    static let slowness = 5

    public init() {}

    /// Whether the server sends notifications now.
    public var isListening: Bool { state.withLock { $0.isListening } }

    /// The number of notifications so far. Read it before asking whether anything can come without one.
    public var count: UInt64 { state.withLock { $0.count } }

    /// Nothing can come without a notification: until the next one, the interval is longer. Does nothing if there was one
    /// since `seen`.
    public func slowDown(since seen: UInt64) { state.withLock { $0.isSlow = $0.isSlow || $0.count == seen } }

    /// Something may come without a notification.
    public func goOn() { state.withLock { $0.isSlow = false } }

    func noteNotification() {
        state.withLock { state in
            state.count &+= 1
            state.isSlow = false
        }
    }

    func note(isListening: Bool) {
        state.withLock { $0.isListening = isListening }
        // Some may have been missed before.
        if isListening { noteNotification() }
    }

    /// The next interval while it listens.
    func next(_ interval: Duration) -> Duration { state.withLock { $0.isSlow ? interval * Self.slowness : interval } }
}

extension JobLedger {
    /// Signals to look for work, over a separate connection where the server can send notifications.
    ///
    /// See `pollInterval` and `listens` in `LedgerConfiguration`. The caller may slow the `pace` down.
    public func workSignals(_ pace: SignalPace = SignalPace()) -> WorkSignals {
        WorkSignals(wakeUps: WakeUps(configuration: configuration, channel: schema.text, pace: pace))
    }
}
