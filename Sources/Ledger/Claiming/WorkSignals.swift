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
        /// The interval has passed.
        case timePassed
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        var wakeUps: WakeUps.AsyncIterator

        public mutating func next() async -> Signal? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Signal? {
            switch await wakeUps.next(isolation: actor) {
            // A notification that this build does not know may be as urgent as a cancellation.
            case .notified(let texts): texts == ["jobs"] ? .work : .cancellation
            case .timePassed: .timePassed
            case nil: nil
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(wakeUps: wakeUps.makeAsyncIterator()) }
}

extension JobLedger {
    /// Signals to look for work, over a separate connection where the server can send notifications.
    ///
    /// See `pollInterval` and `listens` in `LedgerConfiguration`.
    public func workSignals() -> WorkSignals {
        WorkSignals(wakeUps: WakeUps(configuration: configuration, channel: schema.text))
    }
}
