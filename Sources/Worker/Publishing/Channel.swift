import Synchronization
import System

/// An asynchronous queue from one stage of the worker to the next.
final class Channel<Item: Sendable>: Sendable {
    private let waiting = Mutex<[Item]>([])
    private let signal = WakeSignal()

    func put(_ items: Item...) { put(items) }

    func put(_ items: [Item]) {
        guard !items.isEmpty else { return }
        waiting.withLock { $0 += items }
        signal.send()
    }

    /// Returns up to `limit` items; waits until there is at least one. `nil` when the task is cancelled.
    func take(upTo limit: Int) async -> [Item]? {
        while !Task.isCancelled {
            let seen = signal.count
            let taken = waiting.withLock { waiting in
                let taken = Array(waiting.prefix(limit))
                waiting.removeFirst(taken.count)
                return taken
            }
            if !taken.isEmpty { return taken }
            await signal.wait(since: seen)
        }
        return nil
    }
}
