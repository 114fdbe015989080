/// A worker's own estimate of its lease, on a clock that also runs while the machine sleeps.
///
/// This clock protects nothing: the ledger decides by fences which worker has a job. The clock says how long the
/// worker goes on without an answer: for the length of the lease, less a margin, counted from just before it sent
/// the last answered beat, or for `patience`, if that is longer. After the end of the lease the ledger may give the
/// jobs to other workers. Until it does, they still belong to this worker.
public struct LeaseClock: Sendable, Hashable {
    /// Subtracted from each lease, so that work under way can end within it.
    public let margin: Duration
    /// How long the worker goes on without an answer, if that is longer than a lease.
    public let patience: Duration
    /// When the worker gives up, unless the ledger answers a beat.
    public private(set) var end: ContinuousClock.Instant
    /// When the lease ends, unless the ledger answers a beat.
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

    /// Records the answer to a beat.
    ///
    /// The lease counts from when the beat was sent, and an answer that arrives late never shortens a lease that a
    /// later beat extended. A lease that has ended stays ended.
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

    /// Whether the worker goes on although its lease is over, because it has no answer yet.
    public func isOverdue(at now: ContinuousClock.Instant) -> Bool { holds(at: now) && now >= leaseEnd }

    /// How long the worker may go on without an answer; zero if its lease was lost.
    public func left(at now: ContinuousClock.Instant) -> Duration { holds(at: now) ? end - now : .zero }
}
