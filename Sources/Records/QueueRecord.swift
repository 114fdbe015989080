package import Ledger

/// The JSON form of a queue.
package struct QueueRecord: Codable {
    package let queue: String
    package let isPaused: Bool
    package let runningLimit: Int?
    package let weight: Int
    package let jobs: JobCounts

    package init(_ queue: QueueSummary) {
        (self.queue, isPaused, runningLimit) = (queue.name, queue.isPaused, queue.runningLimit)
        (weight, jobs) = (queue.weight, queue.jobs)
    }

    /// Reads a queue that another process tells of.
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: CodingKeys.self)
        queue = try record.decode(String.self, forKey: .queue)
        isPaused = try record.decode(Bool.self, forKey: .isPaused)
        runningLimit = try record.countIfPresent(.runningLimit)
        weight = try record.small(.weight)
        jobs = try record.counts(.jobs)
    }

    /// What it was made of.
    package var summary: QueueSummary {
        QueueSummary(name: queue, isPaused: isPaused, runningLimit: runningLimit, weight: weight, jobs: jobs)
    }
}
