import Conversion
import Synchronization

/// Decides which trouble with the database is worth a line of the log: during an outage, every request has the same.
final class OutageLines: Sendable {
    private let last = Mutex<[FailureCode: ContinuousClock.Instant]>([:])
    private static let pause: Duration = .seconds(60)

    /// Whether trouble with this code was last told a minute ago or more. Then it now counts as told.
    func isWorthALine(_ code: FailureCode, at now: ContinuousClock.Instant = .now) -> Bool {
        last.withLock { last in
            if let earlier = last[code], now - earlier < Self.pause { return false }
            last[code] = now
            return true
        }
    }
}
