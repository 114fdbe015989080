public import Conversion

/// What a coordinator reports while it runs.
public enum CoordinatorEvent: Sendable, Hashable {
    case started
    /// It serves HTTP requests at these addresses.
    case listens(at: [String])
    /// This many workers sent no heartbeat for a whole lease; their jobs are back in the queue.
    case reaped(Int)
    /// The number of publications that this coordinator finished for others.
    case finishedForOthers(Int)
    /// It sends nothing to webhooks, because its login may not.
    case sendsNoWebhooks(Failure)
    /// A delivery to a webhook was tried for about a day, or the receiver said that it is gone.
    case undeliverable(webhook: Int32, delivery: Int64)
    case ledgerAway(Failure)
    case ledgerBack
    /// Something failed and will be tried again.
    case trouble(Failure)
    case stopped
}
