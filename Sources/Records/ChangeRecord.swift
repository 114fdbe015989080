package import Conversion
package import Ledger

/// The JSON form of a change to many jobs.
package struct ChangeRecord: Codable {
    package let change: String
    package let jobs: Int
    package let isDone: Bool
    package let changed: Int
    package let askedToStop: Int
    package let publishing: Int
    package let isLowerBound: Bool
    package var onDamage: DamageMode?
    package var concealLimit: Int?
    /// Where a change that looked at some of the jobs continues.
    package var next: String?

    /// `tally` is `nil` if nothing was changed; `publishing` is then how many of the jobs are publishing, if that is
    /// known.
    package init(_ verb: String, _ wanted: JobChange, count: Int, tally: ChangeTally?, publishing known: Int = 0) {
        (change, jobs, isDone) = (verb, count, tally != nil)
        if case .retryWithDamage(let mode, let limit) = wanted { (onDamage, concealLimit) = (mode, limit) }
        (changed, askedToStop) = (tally?.changed ?? 0, tally?.asked ?? 0)
        publishing = tally?.publishing ?? known
        isLowerBound = tally?.isLowerBound ?? false
    }

    /// Reads a change that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        change = try record.decode(String.self, forKey: .change)
        (jobs, isDone) = (try record.count(.jobs), try record.decode(Bool.self, forKey: .isDone))
        (changed, askedToStop) = (try record.count(.changed), try record.count(.askedToStop))
        publishing = try record.count(.publishing)
        isLowerBound = try record.decode(Bool.self, forKey: .isLowerBound)
        onDamage = try record.decodeIfPresent(DamageMode.self, forKey: .onDamage)
        concealLimit = try record.countIfPresent(.concealLimit)
        next = try record.decodeIfPresent(String.self, forKey: .next)
    }

    /// What was changed.
    package var tally: ChangeTally {
        var tally = ChangeTally()
        (tally.seen, tally.changed, tally.asked) = (jobs, changed, askedToStop)
        (tally.publishing, tally.isLowerBound) = (publishing, isLowerBound)
        return tally
    }
}
