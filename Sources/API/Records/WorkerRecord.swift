package import FoundationEssentials
package import Ledger

/// A worker, and what it is doing.
package struct WorkerRecord: LedgerRecord, ListedRecord {
    package var worker: WorkerSummary
    package var state: WorkerState

    package init(_ worker: WorkerSummary, _ now: Date) { (self.worker, state) = (worker, worker.state(at: now)) }

    package static let listName = "workers"
    package static var blank: WorkerRecord { WorkerRecord(.blank, .distantPast) }

    package static let fields: [RecordField<WorkerRecord>] =
        WorkerSummary.fields.map { $0.of(\.worker) } + [.always("state", \.state, .choice, "what it is doing")]
}
