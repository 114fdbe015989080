import Foundation

/// A thread outside the pool that tasks share, for work that blocks.
package enum SeparateThread {
    /// Runs `body` on a new thread, and returns when it does.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
        }
    }
}
