import Dispatch

/// A connection's own serial executor: waiting for the server must not hold a thread that all Swift tasks share.
final class ConnectionExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "sluice.ledger.connection")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
