import Console
package import FoundationEssentials
package import Ledger

/// The JSON form of a batch.
package struct BatchRecord: Codable {
    package let id: Int64
    package let name: String?
    package let key: String?
    package let queue: String
    package let priority: Int
    package let weight: Int
    package let labels: [String: String]
    package let submitter: String
    package let createdAt: Date
    package let firstJob: Int64
    package let lastJob: Int64
    package let jobs: JobCounts
    package let jobsWithRemarks: Int
    package let isDone: Bool

    package init(_ batch: BatchSummary) {
        (id, name, key) = (batch.batch, batch.name, batch.key)
        (queue, priority, weight) = (batch.queue, batch.priority, batch.weight)
        (labels, submitter, createdAt) = (batch.labels, batch.submitter, batch.createdAt)
        (firstJob, lastJob, jobs) = (batch.firstJob, batch.lastJob, batch.jobs)
        jobsWithRemarks = batch.jobsWithRemarks
        isDone = batch.jobs.open == 0
    }

    /// Reads a batch that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        id = try record.id(.id)
        name = try record.decodeIfPresent(String.self, forKey: .name)
        key = try record.decodeIfPresent(String.self, forKey: .key)
        queue = try record.decode(String.self, forKey: .queue)
        priority = try record.small(.priority)
        weight = try record.small(.weight)
        labels = try record.decode([String: String].self, forKey: .labels)
        submitter = try record.decode(String.self, forKey: .submitter)
        createdAt = try record.decode(Date.self, forKey: .createdAt)
        (firstJob, lastJob) = (try record.id(.firstJob), try record.id(.lastJob))
        jobs = try record.counts(.jobs)
        jobsWithRemarks = try record.count(.jobsWithRemarks)
        isDone = jobs.open == 0
    }

    /// What it was made of.
    package var summary: BatchSummary {
        var batch = BatchSummary(
            batch: id,
            queue: queue,
            priority: priority,
            weight: weight,
            labels: labels,
            submitter: submitter,
            createdAt: createdAt,
            jobsFrom: firstJob,
            to: lastJob,
            jobs: jobs,
            jobsWithRemarks: jobsWithRemarks
        )
        (batch.name, batch.key) = (name, key)
        return batch
    }
}

extension JobCounts {
    /// Jobs in a final state.
    package var ended: Int { completed + skipped + failed + cancelled }

    /// The share of jobs that have ended, from 0 to 1; 1 for an empty batch.
    package var share: Double { total == 0 ? 1 : Double(ended) / Double(total) }

    /// `3,851 completed, 2 failed, 8 running`: the states with jobs in them, final states first.
    package var words: String {
        let order: [JobState] = [.completed, .skipped, .failed, .cancelled, .running, .publishing, .waiting, .delayed]
        let parts = order.filter { self[$0] > 0 }.map { "\(Figures.grouped(self[$0])) \($0.rawValue)" }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}

extension BatchSummary {
    /// `batch 17 "podcasts"`
    package var title: String { "batch \(batch)" + (name.map { " \"\($0.printable)\"" } ?? "") }
}
