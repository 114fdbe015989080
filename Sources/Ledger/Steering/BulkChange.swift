import Conversion
public import FoundationEssentials

/// A change of many jobs that the ledger keeps. Coordinators carry it out, also after the client has disconnected, and it
/// can be undone.
public struct BulkChange: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
        case running
        /// All jobs that matched have been changed.
        case done
        case stopped
        /// It could not go on, for the reason in `error`.
        case failed
        case undoing, undone
    }

    /// What its owner may want of it.
    public enum Wish: String, Sendable, Hashable, CaseIterable {
        case stop
        /// Takes back what it changed, as far as the jobs still wait: cancelled jobs return to their lanes, jobs get their
        /// earlier priorities, and retried jobs are cancelled.
        case undo
    }

    public var number: Int64
    public var change: JobChange
    public var phase: Phase
    /// How many jobs there were when it began.
    public var expected: Int
    public var tally: ChangeTally
    /// How many of the changed jobs were changed back.
    public var undone: Int
    public var error: String?
    public var submitter: String
    /// The name of the token with which it was begun.
    public var token: String
    public var createdAt: Date
    public var endedAt: Date?

    public var isUnderWay: Bool { phase == .running || phase == .undoing }
}

/// A bulk change that no coordinator carries out, and the principal to act for.
public struct UnfinishedChange: Sendable, Hashable {
    public var number: Int64
    public var principal: Principal
}

extension BulkChange {
    /// A row of `bulk_change`.
    init(_ row: Row) throws {
        change = JobChange(
            word: try row["change"],
            try (row["arguments"] as JSON).decoded(during: row.operation)
        )
        number = try row["id"]
        phase = try row.value("phase")
        expected = try row["expected"]
        tally = ChangeTally()
        (tally.seen, tally.changed) = (try row["seen"], try row["changed"])
        (tally.asked, tally.publishing) = (try row["asked"], try row["publishing"])
        undone = try row["undone"]
        error = try row["error"]
        submitter = try row["submitter"]
        token = try row["token"]
        createdAt = try row["created_at"]
        endedAt = try row["ended_at"]
    }
}

extension JobChange {
    /// The words of `start_change`: the change, and its arguments.
    var words: (change: String, arguments: [String: String]) {
        switch self {
        case .cancel: ("cancel", [:])
        case .retry: ("retry", [:])
        case .retryWithDamage(let damage, let limit):
            ("retry", ["damage": damage.rawValue].merging(limit.map { ["conceal_seconds": "\($0)"] } ?? [:]) { $1 })
        case .prioritize(let priority): ("prioritize", ["priority": "\(priority)"])
        }
    }

    fileprivate init(word: String, _ arguments: [String: String]) {
        switch word {
        case "cancel": self = .cancel
        case "prioritize": self = .prioritize(arguments["priority"].flatMap { Int32($0) } ?? 0)
        default:
            let limit = arguments["conceal_seconds"].flatMap { Int($0) }
            let damage = arguments["damage"].flatMap(DamageMode.init(rawValue:))
            self = damage.map { .retryWithDamage($0, concealSeconds: limit) } ?? .retry
        }
    }
}
