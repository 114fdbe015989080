public import Conversion

/// What a coordinator has to say, as it happens.
public enum CoordinatorEvent: Sendable, Hashable {
    case started
    /// So many workers gave no sign of life for a whole lease; their jobs are back in line.
    case reaped(Int)
    /// Publications of others, finished here.
    case finishedForOthers(Int)
    case ledgerAway(Failure)
    case ledgerBack
    /// Something did not succeed and is tried again.
    case trouble(Failure)
    case stopped
}
