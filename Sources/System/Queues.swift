package import Dispatch

/// A serial executor of its own, for an actor whose work blocks: it must not occupy the threads that all Swift tasks
/// share.
///
/// Dispatch provides a thread only while there is work, so waiting costs neither CPU nor a thread.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(_ label: StaticString) { queue = DispatchQueue(label: "\(label)") }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// Runs blocking system calls, which must not occupy the threads that all Swift tasks share.
///
/// One call runs at a time, in order. Dispatch supplies a thread while there is work.
package struct BlockingQueue: Sendable {
    private let queue: DispatchQueue

    package init(_ label: String) { queue = DispatchQueue(label: "sluice.\(label)") }

    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` after the calls before it, and does not wait for it.
    package func start(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
