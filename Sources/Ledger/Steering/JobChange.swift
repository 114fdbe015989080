public import Conversion

/// What is to become of many jobs.
public enum JobChange: Sendable, Hashable {
    /// Those not begun end at once; those that run are stopped by their workers. For those that are publishing it is too late.
    case cancel
    /// Those that failed or were cancelled go back into line with all their attempts; those that wait for another try go at once.
    /// Those that are half published are handed at once to those who can finish them.
    case retry
    /// The same, and from then on they meet damage in that way, with at most so many seconds of silence if that is said. The record
    /// says how they met it before.
    case retryWithDamage(DamageMode, concealSeconds: Int? = nil)
    /// Those that wait move to another priority.
    case prioritize(Int32)

    /// The states in which it means something.
    var states: [JobState] {
        switch self {
        case .cancel: [.delayed, .waiting, .running]
        case .retry, .retryWithDamage: [.delayed, .failed, .cancelled]
        case .prioritize: [.delayed, .waiting]
        }
    }

    var operation: String {
        switch self {
        case .cancel: "cancel jobs"
        case .retry, .retryWithDamage: "retry jobs"
        case .prioritize: "prioritize jobs"
        }
    }

    /// One chunk.
    func statement(_ schema: SchemaName, _ filter: JSON, _ cursor: JSON?, _ size: Int32) -> Statement {
        switch self {
        case .cancel: "select * from \(schema).cancel_jobs(\(filter), \(cursor), \(size))"
        case .retry:
            "select seen, changed, 0::bigint as asked, publishing, next from \(schema).retry_jobs(\(filter), \(cursor), \(size))"
        case .retryWithDamage(let damage, let limit):
            """
            select seen, changed, 0::bigint as asked, publishing, next
            from \(schema).retry_jobs(\(filter), \(cursor), \(size), \(damage.rawValue), \(limit.map { Int32(clamping: $0) }))
            """
        case .prioritize(let priority):
            """
            select seen, changed, 0::bigint as asked, 0::bigint as publishing, next
            from \(schema).prioritize_jobs(\(filter), \(priority), \(cursor), \(size))
            """
        }
    }
}

/// What a change did so far.
public struct ChangeTally: Sendable, Hashable {
    /// Jobs looked at.
    public var seen = 0
    /// Jobs changed.
    public var changed = 0
    /// Running jobs whose workers were asked to stop them.
    public var asked = 0
    /// Jobs that are publishing: too late to be cancelled; by a retry, late ones that are handed out again at once. Neither `seen`
    /// nor `changed` counts them.
    public var publishing = 0
    /// Whether an answer was lost and its chunk done again: then more may have been changed than was counted.
    public var isLowerBound = false
}
