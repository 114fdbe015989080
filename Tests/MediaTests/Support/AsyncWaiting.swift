import Dispatch
import System

@testable import Media

/// Lets other tasks run until `condition` holds. If it never does, the test ends by its time limit.
func until(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        // The conditions are states inside the tested types, which send no events.
        await Task.yield()
    }
}

extension QueueExecutor {
    /// Holds back all work until `resume()`.
    func suspend() { queue.suspend() }

    func resume() { queue.resume() }

    /// Waits until everything queued so far is done and released.
    func settle() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
