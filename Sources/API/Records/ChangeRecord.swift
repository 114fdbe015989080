package import Ledger

/// A change to many jobs, or to a part of them, and what came of it.
package struct ChangeRecord: LedgerRecord {
    package var change: JobChange
    /// Jobs that were selected.
    package var jobs: Int
    /// Whether something was changed, instead of counted only.
    package var isDone: Bool
    package var tally: ChangeTally
    /// Where a change that looked at some of the jobs continues.
    package var next: String?

    /// `tally` is `nil` if nothing was changed; `publishing` is then how many of the jobs are publishing, if that is
    /// known.
    package init(_ change: JobChange, count: Int, tally: ChangeTally?, publishing known: Int = 0, next: String? = nil) {
        (self.change, jobs, isDone, self.tally, self.next) = (change, count, tally != nil, tally ?? ChangeTally(), next)
        if tally == nil { self.tally.publishing = known }
        self.tally.seen = count
    }

    package static var blank: ChangeRecord { ChangeRecord(.retry, count: 0, tally: nil) }

    package static let fields: [RecordField<ChangeRecord>] =
        JobChange.fields.map { $0.of(\.change) }
        + [
            .always("jobs", \.jobs, .count, "jobs that were selected"),
            .always("isDone", \.isDone, .truth, "false for a preview"),
        ]
        + ChangeTally.fields.map { $0.of(\.tally) }
        + [
            .always("isLowerBound", \.tally.isLowerBound, .truth, "whether a lost answer made the counts too low"),
            .maybe(
                "next",
                \.next,
                .text,
                "the value of \"after\" that continues a change with a limit; missing at its end"
            ),
        ]
}
