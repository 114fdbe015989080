package import Conversion
package import FoundationEssentials
package import Ledger

/// The JSON form of a bulk change.
package struct BulkChangeRecord: Codable, Sendable {
    package let number: Int64
    package let change: String
    package let phase: BulkChange.Phase
    package let expected: Int
    package let seen: Int
    package let changed: Int
    package let askedToStop: Int
    package let publishing: Int
    package let undone: Int
    package var priority: Int32?
    package var onDamage: DamageMode?
    package var concealLimit: Int?
    package let error: String?
    package let submitter: String
    package let token: String
    package let createdAt: Date
    package let endedAt: Date?

    package init(_ bulk: BulkChange) {
        switch bulk.change {
        case .cancel: change = "cancel"
        case .retry: change = "retry"
        case .retryWithDamage(let mode, let limit): (change, onDamage, concealLimit) = ("retry", mode, limit)
        case .prioritize(let priority): (change, self.priority) = ("prioritize", priority)
        }
        (number, phase, expected) = (bulk.number, bulk.phase, bulk.expected)
        (seen, changed, undone) = (bulk.tally.seen, bulk.tally.changed, bulk.undone)
        (askedToStop, publishing) = (bulk.tally.asked, bulk.tally.publishing)
        (error, submitter, token) = (bulk.error, bulk.submitter, bulk.token)
        (createdAt, endedAt) = (bulk.createdAt, bulk.endedAt)
    }

    /// Reads what another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        number = try record.id(.number)
        change = try record.decode(String.self, forKey: .change)
        phase = try record.decode(BulkChange.Phase.self, forKey: .phase)
        (expected, seen, changed) = (try record.count(.expected), try record.count(.seen), try record.count(.changed))
        (askedToStop, publishing) = (try record.count(.askedToStop), try record.count(.publishing))
        undone = try record.count(.undone)
        priority = try record.decodeIfPresent(Int32.self, forKey: .priority)
        onDamage = try record.decodeIfPresent(DamageMode.self, forKey: .onDamage)
        concealLimit = try record.smallIfPresent(.concealLimit)
        error = try record.decodeIfPresent(String.self, forKey: .error)
        submitter = try record.decode(String.self, forKey: .submitter)
        token = try record.decode(String.self, forKey: .token)
        createdAt = try record.decode(Date.self, forKey: .createdAt)
        endedAt = try record.decodeIfPresent(Date.self, forKey: .endedAt)
    }
}
