/// When to look for work: as soon as the ledger notifies of some, and at intervals.
///
/// Never ends and never throws; without a database to listen to it goes by the clock alone. Several signals that were not
/// taken yet become one.
public struct WorkSignals: AsyncSequence, Sendable {
    let wakeUps: WakeUps

    /// Why to look.
    public enum Signal: Sendable, Hashable {
        /// Something was submitted, cancelled or let go: look for work, and beat.
        case news
        /// The time for a look has come.
        case timePassed
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        var wakeUps: WakeUps.AsyncIterator

        public mutating func next() async -> Signal? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Signal? {
            switch await wakeUps.next(isolation: actor) {
            case .told: .news
            case .timePassed: .timePassed
            case nil: nil
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(wakeUps: wakeUps.makeAsyncIterator()) }
}

extension JobLedger {
    /// Waits for work, again and again, on a connection of its own where the server can tell us. See `pollInterval`, `listens`.
    public func workSignals() -> WorkSignals {
        WorkSignals(wakeUps: WakeUps(configuration: configuration, channel: schema.text))
    }
}
