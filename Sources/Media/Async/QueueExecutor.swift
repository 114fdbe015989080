import Dispatch

/// A serial executor of its own: libav blocks, and must not block the threads that all Swift tasks share.
///
/// Dispatch lends the queue a thread while there is work and takes it back after, so waiting costs neither CPU nor a
/// thread.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(_ label: StaticString) { queue = DispatchQueue(label: "\(label)") }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
