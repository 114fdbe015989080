import System
import WorkerRules

/// How busy a worker is.
public struct WorkerLoad: Sendable, Hashable {
    public var busySlots: Int
    public var slots: Int

    public init(busySlots: Int, slots: Int) { (self.busySlots, self.slots) = (busySlots, slots) }
}

/// Reports at regular times that the worker makes progress.
///
/// Before each report, everything that the worker cannot do without has to answer: the threads that all tasks share,
/// the lock on the worker's state, the thread of the clock, and the thread of the heartbeats. If one of them hangs, the
/// reports end, and a watchdog can restart the process. Jobs have limits of their own, and neither a ledger nor a disk
/// that does not answer ends the reports.
struct Pulse: Sendable {
    let interval: Duration
    let threads: [any TaskExecutor]
    let dispatcher: Dispatcher
    let report: @Sendable (WorkerLoad) -> Void

    /// Runs until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            for thread in threads { await Task(executorPreference: thread) {}.value }
            report(dispatcher.read { WorkerLoad(busySlots: $0.busySlots, slots: $0.settings.slots) })
            // Throws only when the task is cancelled, and then the loop ends.
            try? await Task.sleep(for: interval, clock: .continuous)
        }
    }
}
