import Conversion
import Ledger

/// How far the stop of a worker has come.
struct Stopping: Sendable {
    /// When the present step is over; `nil` for never.
    var deadline: WorkerState.Moment?
    /// Whether the jobs that still ran at the deadline were handed back. Then `deadline` is the end of everything.
    var isCuttingShort = false
    var hasEnded = false
}

extension WorkerState {
    /// How long the last reports to the ledger may take. If they fail, the lease ends by itself.
    package static let lastWords: Duration = .seconds(10)

    package var isStopping: Bool { stopping != nil }

    /// Ends claiming and hands back what has not begun. An earlier deadline stays in force.
    mutating func stop(by deadline: Moment?) {
        guard let before = stopping else {
            let waiting = queue.count
            handBackQueued(HandBack(.draining))
            stopping = Stopping(deadline: deadline)
            actions.append(.report(.draining(running: jobs.count - waiting, handedBack: waiting)))
            return
        }
        guard !before.isCuttingShort else { return }
        stopping?.deadline = [before.deadline, deadline].compactMap(\.self).min()
    }

    /// Ends a worker that works until it is idle. Called after a claim of `worker` that brought no job.
    ///
    /// `isDry` holds if the ledger had nothing, and since the claim no signal came and no job left. The ledger also
    /// has nothing for a root that is set aside, whose jobs may still wait: then the worker stays.
    mutating func endIfIdle(_ worker: Int64) {
        guard settings.endsWhenIdle, stopping == nil, isDry, jobs.isEmpty, wish == .run, absentRoots.isEmpty,
            worker == session?.worker
        else { return }
        stopping = Stopping()
        actions.append(.report(.idle))
    }

    mutating func continueStopping(at now: Moment) {
        guard var stopping, !stopping.hasEnded else { return }
        if !jobs.isEmpty, let deadline = stopping.deadline, now >= deadline {
            if stopping.isCuttingShort {
                stopping.hasEnded = true
            } else {
                actions.append(.giveUpFileCalls)
                for job in stop(.draining, { _ in true }) { ready.add(.handedBack(HandBack(.draining)), of: job.fence) }
                (stopping.isCuttingShort, stopping.deadline) = (true, now + Self.lastWords)
            }
        }
        if jobs.isEmpty { stopping.hasEnded = true }
        if stopping.hasEnded {
            stopping.deadline = nil
            actions.append(.end)
        }
        self.stopping = stopping
    }
}
