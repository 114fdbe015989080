package import Ledger

/// The JSON form of a queue.
package struct QueueRecord: Encodable {
    package let queue: String
    package let isPaused: Bool
    package let runningLimit: Int?
    package let weight: Int
    package let jobs: JobCounts

    package init(_ queue: QueueSummary) {
        (self.queue, isPaused, runningLimit) = (queue.name, queue.isPaused, queue.runningLimit)
        (weight, jobs) = (queue.weight, queue.jobs)
    }
}
