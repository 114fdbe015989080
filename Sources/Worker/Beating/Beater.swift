import Conversion
import Glibc
import Ledger
import Synchronization
import System
import WorkerRules

/// Sends the worker's heartbeats. Runs on a separate thread, and waits only for its own connection.
final class Beater: Sendable {
    private let pulse = PulseThread()
    private let askedFor = Mutex<ContinuousClock.Instant?>(nil)
    /// Progress of a conversion that takes longer than this is sent at once, before the next beat is due.
    private static let patience = Duration.seconds(1)

    /// The thread that sends the beats.
    var executor: any TaskExecutor { pulse }

    /// Ends the thread.
    func end() { pulse.end() }

    // MARK: - Beats before they are due

    /// Requests a heartbeat now.
    func hurry() { pulse.poke() }

    /// From now on there may be progress to send.
    func lookForProgress() { pulse.lookAgain() }

    /// Requests a heartbeat now, or one second after the last one requested here. News may come in floods, and the
    /// last of them may be a cancellation.
    func beatSoon() {
        let wait: Duration? = askedFor.withLock { last in
            let now = ContinuousClock.now
            let due = max(now, last.map { $0 + .seconds(1) } ?? now)
            // A heartbeat that is already scheduled is soon enough.
            if let last, last > now { return nil }
            last = due
            return due - now
        }
        guard let wait else { return }
        guard wait > .zero else { return hurry() }
        Task {
            // Cannot throw: this task is never cancelled.
            try? await Task.sleep(for: wait)
            hurry()
        }
    }

    // MARK: - Beats

    /// Sends beats until the task is cancelled. `describe` completes the worker's status.
    func run(
        _ dispatcher: Dispatcher,
        _ heartbeat: Heartbeat,
        describe: @Sendable (inout WorkerStatus) -> Void
    ) async {
        var wait: Duration = .zero
        var seen = pulse.pokes
        while !Task.isCancelled {
            let due = ContinuousClock.now + wait
            // However short the jobs are, the worker sends at most four beats in the time of one.
            let pause = min(max(Self.patience, dispatcher.leaseLength / 12), .milliseconds(2_500))
            repeat {
                let calls = pulse.calls
                // A poke may have come before that.
                guard pulse.pokes == seen else { break }
                // Without a conversion there is no progress, and the next one calls.
                let isConverting = dispatcher.read { $0.isConverting }
                await pulse.sleep(until: isConverting ? min(due, .now + pause) : due, since: calls)
            } while .now < due && pulse.pokes == seen && !Task.isCancelled
                && !dispatcher.read { $0.hasChanged(after: Self.patience, at: .now) }
            // Read before the beat is sent, so that a poke during the beat counts as news.
            seen = pulse.pokes
            guard !Task.isCancelled, let beat = dispatcher.beat() else {
                // Without a lease there is nothing to renew. The next registration asks for a beat.
                wait = .seconds(1)
                continue
            }
            var status = WorkerStatus(
                busySlots: beat.busySlots,
                pausedBecause: beat.pausedBecause,
                pausedRoots: beat.pausedRoots,
                paces: beat.paces,
                userID: Int(geteuid())
            )
            describe(&status)
            wait = await send(beat, status, dispatcher, heartbeat)
        }
    }

    /// Sends one heartbeat. Returns the time until the next one is due.
    private func send(
        _ beat: WorkerState.Beat,
        _ status: WorkerStatus,
        _ dispatcher: Dispatcher,
        _ heartbeat: Heartbeat
    ) async -> Duration {
        let interval = beat.leaseLength / 3
        do {
            let reply = try await heartbeat.beat(
                beat.worker,
                beat.jobs,
                status: status,
                within: min(.seconds(10), max(interval, .milliseconds(200)))
            )
            dispatcher.report(.beatAnswered(reply, worker: beat.worker, reported: beat.jobs))
            return max(interval - (.now - reply.sentAt), .zero)
        } catch {
            // No answer: the worker goes on as long as its lease clock allows, because the ledger
            // may not have ended the lease.
            dispatcher.report(.beatUnanswered(worker: beat.worker))
            return min(interval, .seconds(1)) * Double.random(in: 0.2...1)
        }
    }
}
