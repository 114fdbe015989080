import Dispatch

@testable import Media

/// Lets other tasks run until `condition` holds. A test in which it never does ends by its time limit.
func until(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

extension QueueExecutor {
    /// Keeps back all work until `resume()`.
    func suspend() { queue.suspend() }

    func resume() { queue.resume() }

    /// Waits until everything that was queued here is done and let go.
    func settle() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
