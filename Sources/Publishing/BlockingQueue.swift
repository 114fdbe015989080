import Dispatch

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
}
