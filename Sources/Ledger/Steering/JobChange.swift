public import Conversion

/// A change to many jobs.
public enum JobChange: Sendable, Hashable {
    /// Jobs that have not started end at once. Workers stop those that run. For jobs that are publishing it is too
    /// late.
    case cancel
    /// Failed and cancelled jobs return to their lanes with all their attempts. Jobs that wait for another try
    /// become ready at once. Jobs stuck in publishing are handed out at once to processes that can finish them.
    case retry
    /// Retries, and changes how the recipe handles damage, with a limit on the seconds of concealed silence if one
    /// is given. The job's record keeps the earlier setting.
    case retryWithDamage(DamageMode, concealSeconds: Int? = nil)
    /// Moves jobs that wait to another priority.
    case prioritize(Int32)
    /// Accepts failures: failed jobs count apart, and no wait fails for them. With `undo` accepted jobs count as failed
    /// ones again.
    case accept(undo: Bool = false)

    /// The states of the jobs that the change applies to.
    var states: [JobState] {
        switch self {
        case .cancel: [.delayed, .waiting, .running]
        case .retry, .retryWithDamage: [.delayed, .failed, .accepted, .cancelled]
        case .prioritize: [.delayed, .waiting]
        case .accept(let undo): [undo ? .accepted : .failed]
        }
    }

    package var operation: String {
        switch self {
        case .cancel: "cancel jobs"
        case .retry, .retryWithDamage: "retry jobs"
        case .prioritize: "prioritize jobs"
        case .accept: "accept failures"
        }
    }

    /// The statement for one chunk.
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
        case .accept(let undo):
            """
            select seen, changed, 0::bigint as asked, 0::bigint as publishing, next
            from \(schema).accept_jobs(\(filter), \(cursor), \(size), \(undo))
            """
        }
    }
}

/// The effect of a change so far.
public struct ChangeTally: Sendable, Hashable {
    /// Jobs looked at.
    public var seen = 0
    /// Jobs changed.
    public var changed = 0
    /// Running jobs whose workers were asked to stop them.
    public var asked = 0
    /// Jobs that are publishing. For a cancellation it is too late. A retry hands out those that are overdue again.
    /// Neither `seen` nor `changed` counts them.
    public var publishing = 0
    /// Whether a lost answer made a chunk run twice. More jobs may then have changed than were counted.
    public var isLowerBound = false

    public init() {}

    /// Adds the effect of a further chunk.
    package mutating func add(_ part: ChangeTally) {
        seen += part.seen
        changed += part.changed
        asked += part.asked
        publishing += part.publishing
        isLowerBound = isLowerBound || part.isLowerBound
    }
}

/// What was changed, in the members of a larger record.
extension ChangeTally: LedgerRecord {
    package static var blank: ChangeTally { ChangeTally() }

    package static let fields: [RecordField<ChangeTally>] = [
        .always("changed", \.changed, .count, "jobs that it has changed"),
        .always("askedToStop", \.asked, .count, "running jobs whose workers were asked to stop them", column: "asked"),
        .always("publishing", \.publishing, .count, "jobs that are publishing: too late to cancel"),
    ]
}
