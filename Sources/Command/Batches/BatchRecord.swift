import Console
import FoundationEssentials
import Ledger

/// The JSON form of a batch.
struct BatchRecord: Encodable {
    let id: Int64
    let name: String?
    let key: String?
    let queue: String
    let priority: Int
    let weight: Int
    let labels: [String: String]
    let submitter: String
    let createdAt: Date
    let firstJob: Int64
    let lastJob: Int64
    let jobs: JobCounts
    let jobsWithRemarks: Int
    let isDone: Bool

    init(_ batch: BatchSummary) {
        (id, name, key) = (batch.batch, batch.name, batch.key)
        (queue, priority, weight) = (batch.queue, batch.priority, batch.weight)
        (labels, submitter, createdAt) = (batch.labels, batch.submitter, batch.createdAt)
        (firstJob, lastJob, jobs) = (batch.firstJob, batch.lastJob, batch.jobs)
        jobsWithRemarks = batch.jobsWithRemarks
        isDone = batch.jobs.open == 0
    }
}

extension JobCounts {
    /// Jobs in a final state.
    var ended: Int { completed + skipped + failed + cancelled }

    /// The share of jobs that have ended, from 0 to 1; 1 for an empty batch.
    var share: Double { total == 0 ? 1 : Double(ended) / Double(total) }

    /// `3,851 completed, 2 failed, 8 running`: the states with jobs in them, final states first.
    var words: String {
        let order: [JobState] = [.completed, .skipped, .failed, .cancelled, .running, .publishing, .waiting, .delayed]
        let parts = order.filter { self[$0] > 0 }.map { "\(Figures.grouped(self[$0])) \($0.rawValue)" }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

extension BatchSummary {
    /// `batch 17 "podcasts"`
    var title: String { "batch \(batch)" + (name.map { " \"\($0.printable)\"" } ?? "") }
}
