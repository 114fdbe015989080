import Dispatch

/// A dedicated serial executor: libav blocks, and must not block the thread pool that all Swift tasks share.
///
/// Dispatch provides the queue with a thread only while there is work, so waiting costs neither CPU nor a thread.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(_ label: StaticString) { queue = DispatchQueue(label: "\(label)") }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
