import Conversion
import Synchronization
import System
import WorkerRules

/// Guards the worker's state: takes the events of all stages one after the other, and passes the actions on, each to
/// the stage that carries it out.
final class Dispatcher: Sendable {
    private struct Guarded {
        var state: WorkerState
        /// Actions that no stage has yet, in their order.
        var actions: [WorkerState.Action] = []
        /// Whether a thread passes actions on. Others leave theirs to it, so that the order stays.
        var isPassingOn = false
        var stages: Stages?
        /// When the next event is due that only time brings.
        var deadline: WorkerState.Moment?
    }

    private let guarded: Mutex<Guarded>

    init(_ settings: WorkerSettings) { guarded = Mutex(Guarded(state: WorkerState(settings))) }

    /// From now on actions reach the stages, beginning with those that came before.
    func begin(_ stages: Stages) {
        guarded.withLock { $0.stages = stages }
        passOn()
        stages.ticker.hurry()
    }

    /// Reports an event. Never waits for a stage.
    func report(_ event: WorkerState.Event) {
        let (ticker, beater) = guarded.withLock { guarded -> (Ticker?, Beater?) in
            let now = ContinuousClock.now
            let wasConverting = guarded.state.isConverting
            guarded.actions += guarded.state.handle(event, at: now)
            let (before, deadline) = (guarded.deadline, guarded.state.deadline(after: now))
            guarded.deadline = deadline
            let isSooner = deadline.map { new in before.map { new < $0 } ?? true } ?? false
            let begins = guarded.state.isConverting && !wasConverting
            return (isSooner ? guarded.stages?.ticker : nil, begins ? guarded.stages?.beater : nil)
        }
        ticker?.hurry()
        beater?.lookForProgress()
        passOn()
    }

    private func passOn() {
        let stages = guarded.withLock { guarded -> Stages? in
            guard let stages = guarded.stages, !guarded.isPassingOn else { return nil }
            guarded.isPassingOn = true
            return stages
        }
        guard let stages else { return }
        while true {
            let actions = guarded.withLock { guarded in
                defer { guarded.actions = [] }
                if guarded.actions.isEmpty { guarded.isPassingOn = false }
                return guarded.actions
            }
            if actions.isEmpty { return }
            for action in actions { stages.take(action) }
        }
    }

    // MARK: - Reading the state

    /// When something may follow although no event comes; `nil` if nothing will.
    var deadline: WorkerState.Moment? { guarded.withLock { $0.deadline } }

    /// The content of a heartbeat, whose progress counts as reported; `nil` without a lease.
    func beat() -> WorkerState.Beat? { guarded.withLock { $0.state.beat(at: .now) } }

    func read<Answer>(_ body: (borrowing WorkerState) -> Answer) -> Answer { guarded.withLock { body($0.state) } }

    /// The worker's number in the ledger by its last registration.
    var worker: Int64? { read { $0.worker } }
    var isStopping: Bool { read { $0.isStopping } }

    /// The length of the present lease, or of the last one.
    var leaseLength: Duration { read { $0.leaseLength } }

    /// Whether the worker still holds any of the jobs, so that a report to the ledger makes sense.
    func isWorthReporting(_ fences: [Fence]) -> Bool { read { $0.isWorthReporting(fences, at: .now) } }

    /// Why the worker stops a job; `nil` if it does not.
    func stopReason(of fence: Fence) -> StopReason? { read { $0.stopReason(of: fence) } }
}
