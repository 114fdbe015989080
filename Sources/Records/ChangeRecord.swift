package import Conversion
package import Ledger

/// The JSON form of a change to many jobs.
package struct ChangeRecord: Encodable {
    package let change: String
    package let jobs: Int
    package let isDone: Bool
    package let changed: Int
    package let askedToStop: Int
    package let publishing: Int
    package let isLowerBound: Bool
    package var onDamage: DamageMode?
    package var concealLimit: Int?

    /// `tally` is `nil` if nothing was changed.
    package init(_ verb: String, _ wanted: JobChange, count: Int, tally: ChangeTally?) {
        (change, jobs, isDone) = (verb, count, tally != nil)
        if case .retryWithDamage(let mode, let limit) = wanted { (onDamage, concealLimit) = (mode, limit) }
        (changed, askedToStop) = (tally?.changed ?? 0, tally?.asked ?? 0)
        publishing = tally?.publishing ?? 0
        isLowerBound = tally?.isLowerBound ?? false
    }
}
