import Dispatch

/// A serial executor for one connection, so that waiting for the server does not block a thread of Swift's shared pool.
final class ConnectionExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "sluice.ledger.connection")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
