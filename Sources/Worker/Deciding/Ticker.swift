import System
import WorkerRules

/// Reports the passing of time when something may follow from it: the end of a lease or of a pause, for example.
/// Has a thread of its own, because the shared threads may be busy.
struct Ticker: Sendable {
    private let clock = PulseThread("clock")

    /// Looks again when the next event is due.
    func hurry() { clock.poke() }

    func run(_ dispatcher: Dispatcher) async {
        while !Task.isCancelled {
            let seen = clock.calls
            let deadline = dispatcher.deadline
            await clock.sleep(until: deadline ?? .now + .seconds(60), since: seen)
            if let deadline, .now >= deadline { dispatcher.report(.timePassed) }
        }
    }

    /// Ends the thread.
    func end() { clock.end() }

    var executor: any TaskExecutor { clock }
}
