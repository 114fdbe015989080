import Synchronization

/// What a command wants to hear about.
package struct ChangeWishes: Sendable, Hashable {
    package var batches: [Int64] = []
    package var jobs: [Int64] = []
    /// All jobs, by their numbers in the queues.
    package static let all = ChangeWishes()

    package init(batches: [Int64] = [], jobs: [Int64] = []) { (self.batches, self.jobs) = (batches, jobs) }
}

/// Tells a command that something may have changed. The command looks at the ledger to learn what.
package protocol ChangeListening: Sendable {
    /// Whether it receives all changes at present. While it does not, the command polls the ledger.
    var isReceiving: Bool { get }
    /// Ends it. May be called several times.
    func stop()
}

/// A signal for which one task at a time waits.
package final class ChangeSignal: Sendable {
    private struct State {
        var isSet = false
        var sleep: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the current wait, or else the next one.
    package func set() {
        state.withLock { state in
            state.isSet = true
            state.sleep?.cancel()
        }
    }

    /// Returns when the signal was set since the last wait, or after `longest`; whether it was set. Throws if the task is
    /// cancelled.
    @discardableResult
    package func wait(atMost longest: Duration) async throws -> Bool {
        let sleep = Task { () -> Void in
            // Cancelled by the signal, or with the task that waits.
            try? await Task.sleep(for: longest)
        }
        let isSet = state.withLock { state in
            state.sleep = sleep
            return state.isSet
        }
        if isSet { sleep.cancel() }
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        let wasSet = state.withLock { state in
            defer { state = State() }
            return state.isSet
        }
        try Task.checkCancellation()
        return wasSet
    }
}
