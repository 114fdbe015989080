/// A worker's own count of its lease, on a clock that also runs while the machine sleeps.
///
/// The right holds from the moment before the last answered beat was sent, for the length of the lease, less a margin. The
/// ledger counts from a later moment, so who stops by this clock has stopped before anybody else may begin.
public struct LeaseClock: Sendable, Hashable {
    /// What is taken off each lease, for what is still under way when it ends.
    public let margin: Duration
    /// When the right ends, unless a beat is answered.
    public private(set) var end: ContinuousClock.Instant
    private var lastSentAt: ContinuousClock.Instant
    private var isLost = false

    /// Counts from the registration. The margin is a tenth of the lease by default.
    public init(_ entry: WorkerEntry, margin: Duration? = nil) {
        self.init(sentAt: entry.sentAt, leaseLength: entry.leaseLength, margin: margin)
    }

    public init(sentAt: ContinuousClock.Instant, leaseLength: Duration, margin: Duration? = nil) {
        self.margin = margin ?? leaseLength / 10
        lastSentAt = sentAt
        end = sentAt + max(leaseLength - self.margin, .zero)
    }

    /// A beat was answered. An answer that comes late counts from when its beat was sent, and never takes time away that a
    /// later one gave; a right that is over stays over.
    public mutating func renew(with reply: BeatReply, now: ContinuousClock.Instant) {
        guard holds(at: now) else { return isLost = true }
        guard reply.isAlive else { return isLost = true }
        renew(sentAt: reply.sentAt, leaseLength: reply.leaseLength)
    }

    private mutating func renew(sentAt: ContinuousClock.Instant, leaseLength: Duration) {
        guard sentAt >= lastSentAt else { return }
        lastSentAt = sentAt
        end = sentAt + max(leaseLength - margin, .zero)
    }

    /// Whether the worker may go on.
    public func holds(at now: ContinuousClock.Instant) -> Bool { !isLost && now < end }

    /// How long it still may, if nothing is heard; nothing if the right is over.
    public func left(at now: ContinuousClock.Instant) -> Duration { holds(at: now) ? end - now : .zero }
}
