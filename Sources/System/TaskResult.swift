import Dispatch
import Synchronization

/// Blocks the calling thread until an asynchronous function returns.
package enum TaskResult {
    package static func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value {
        let (done, answer) = (DispatchSemaphore(value: 0), Answer<Value>())
        Task {
            let value = await body()
            answer.box.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        guard let value = answer.box.withLock({ $0 }) else { preconditionFailure("the task left its answer") }
        return value
    }

    private final class Answer<Value: Sendable>: Sendable {
        let box = Mutex<Value?>(nil)
    }
}
