/// A worker's own count of its lease, on a clock that also runs while the machine sleeps.
///
/// The ledger decides who has a job, by fences, so this clock protects nothing. It says how long the worker goes on without an answer:
/// for the length of the lease, less a margin, from the moment before the last answered beat was sent, or for `patience`, if that is
/// longer. From the end of the lease on, the ledger may give the jobs to other workers; until it has, they are the worker's own.
public struct LeaseClock: Sendable, Hashable {
    /// What is taken off each lease, for what is still under way when it ends.
    public let margin: Duration
    /// How long the worker goes on without an answer, if that is longer than a lease.
    public let patience: Duration
    /// When the worker gives up, unless a beat is answered.
    public private(set) var end: ContinuousClock.Instant
    /// When the lease is over, unless a beat is answered.
    public private(set) var leaseEnd: ContinuousClock.Instant
    private var lastSentAt: ContinuousClock.Instant
    private var isLost = false

    /// Counts from the registration. The margin is a tenth of the lease by default.
    public init(_ entry: WorkerEntry, margin: Duration? = nil, patience: Duration = .zero) {
        self.init(sentAt: entry.sentAt, leaseLength: entry.leaseLength, margin: margin, patience: patience)
    }

    public init(
        sentAt: ContinuousClock.Instant,
        leaseLength: Duration,
        margin: Duration? = nil,
        patience: Duration = .zero
    ) {
        self.margin = margin ?? leaseLength / 10
        self.patience = patience
        lastSentAt = sentAt
        leaseEnd = sentAt + max(leaseLength - self.margin, .zero)
        end = max(leaseEnd, sentAt + patience)
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
        leaseEnd = sentAt + max(leaseLength - margin, .zero)
        end = max(leaseEnd, sentAt + patience)
    }

    /// Whether the worker may go on.
    public func holds(at now: ContinuousClock.Instant) -> Bool { !isLost && now < end }

    /// Whether it goes on although its lease is over, for want of an answer.
    public func isOverdue(at now: ContinuousClock.Instant) -> Bool { holds(at: now) && now >= leaseEnd }

    /// How long it still may, if nothing is heard; nothing if the right is over.
    public func left(at now: ContinuousClock.Instant) -> Duration { holds(at: now) ? end - now : .zero }
}
