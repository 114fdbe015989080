package import FoundationEssentials
package import Ledger

/// The ledger's time.
package struct TimeRecord: LedgerRecord {
    package var time = Date.distantPast

    package init(_ time: Date) { self.time = time }

    package static var blank: TimeRecord { TimeRecord(.distantPast) }
    package static let fields: [RecordField<TimeRecord>] = [.always("time", \.time, .moment, "the ledger's time")]
}

/// A number of jobs.
package struct CountRecord: LedgerRecord {
    package var jobs: Int

    package init(_ jobs: Int) { self.jobs = jobs }

    package static var blank: CountRecord { CountRecord(0) }
    package static let fields: [RecordField<CountRecord>] = [.always("jobs", \.jobs, .count, "how many")]
}

/// A delivery that was begun, or how many were.
package struct BegunDeliveries: LedgerRecord {
    /// The delivery of a test.
    package var delivery: Int64?
    /// How many dead ones will be sent again.
    package var deliveries: Int?
    /// Where the following page begins; `nil`: there is none.
    package var next: String?

    package init(delivery: Int64? = nil, deliveries: Int? = nil, next: String? = nil) {
        (self.delivery, self.deliveries, self.next) = (delivery, deliveries, next)
    }

    package static var blank: BegunDeliveries { BegunDeliveries() }
    package static let fields: [RecordField<BegunDeliveries>] = [
        .maybe("delivery", \.delivery, .id, "of the test"),
        .maybe("deliveries", \.deliveries, .count, "how many will be sent again"),
        .maybe("next", \.next, .text, "the value of \"after\" for the following page; missing at the end"),
    ]
}
