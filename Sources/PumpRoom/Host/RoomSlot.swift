public import Conversion
import Dispatch
import Glibc
import Synchronization
import System

/// A place for one conversion at a time, in a separate process. Further work waits its turn, in order.
public final class RoomSlot: Sendable {
    private let keeper: RoomKeeper

    /// Opens the slot and starts its first room. `configuration` must be valid.
    ///
    /// `warn` is called at most once, on the slot's own thread, if a room's lock is incomplete. By default, the
    /// first slot of the process that has a warning writes it to standard error.
    public init(
        _ number: Int,
        configuration: RoomConfiguration = RoomConfiguration(),
        warn: @escaping @Sendable (String) -> Void = RoomSlot.complain
    ) {
        keeper = RoomKeeper(number, configuration, warn: warn)
    }

    private static let hasComplained = Atomic<Bool>(false)

    /// Writes `warning` to standard error the first time it is called, and ignores later calls.
    public static let complain: @Sendable (String) -> Void = { warning in
        guard !hasComplained.exchange(true, ordering: .relaxed) else { return }
        let line = Array("sluice: \(warning)\n".utf8)
        _ = retryingInterrupts { write(STDERR_FILENO, line, line.count) }
    }

    deinit { keeper.post(.close({})) }

    /// Carries out `work`. Cancelling the calling task ends it with a failure with the code `cancelled`.
    ///
    /// `began` is called when a room begins the work, which may have waited for other work, and again if it moves to
    /// another room. `report` is called several times a second while frames move. Both are called on the slot's own
    /// thread and must not block. If work is cancelled before it has begun, the room may keep the descriptors open for
    /// a moment longer, but does not use them.
    public func run<Answer>(
        _ work: RoomWork<Answer>,
        report: @escaping @Sendable (ConversionProgress) -> Void = { _ in },
        began: @escaping @Sendable () -> Void = {}
    ) async -> RoomOutcome<Answer> {
        let (id, ticket) = (keeper.nextJob(), RoomTicket())
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let finish: RoomJob.Finish<Answer> = { continuation.resume(returning: $0) }
                var job = RoomJob(
                    id: id,
                    work: work,
                    began: began,
                    report: report,
                    finish: finish,
                    ticket: ticket
                )
                job.deliver = { [keeper] number, count in keeper.post(.filled(job: id, number: number, count: count)) }
                if !keeper.post(.run(job)) { job.handBack() }
            }
        } onCancel: {
            ticket.cancel()
            keeper.post(.cancel(id))
        }
    }

    /// Describes the file behind an open descriptor. Reporting and cancelling work as in `run`.
    public func describe(
        _ source: Int32,
        _ options: ProbeOptions = ProbeOptions(),
        report: @escaping @Sendable (ConversionProgress) -> Void = { _ in }
    ) async -> RoomOutcome<SourceReport> {
        await run(RoomWork(describing: source, options), report: report)
    }

    /// Cancels the job in progress, hands back what waits, and returns when the room is gone.
    ///
    /// Later work is handed back, too. Closing a slot again waits for the same end.
    public func close() async {
        await withCheckedContinuation { continuation in
            if !keeper.post(.close({ continuation.resume() })) { continuation.resume() }
        }
    }

    /// Kills the room with the process id `process`, whose output was found to be false. Returns at once. The job
    /// that it has begun is handed back; the jobs that wait in it go to the next room.
    public func distrust(_ process: Int32, because why: String) { keeper.post(.distrust(process, why: why)) }

    /// Starts closing the slot and returns at once.
    public func dismiss() { keeper.post(.close({})) }

    /// Closes the slot and blocks until all its processes have ended and been reaped. Returns whether they have.
    ///
    /// Processes that have not ended after `grace` are killed. A process that waits in the kernel for a disk cannot
    /// be killed; `limit` bounds the wait for it.
    @discardableResult
    public func end(grace: Duration, limit: Duration) -> Bool {
        (grace > .zero && isOver(within: grace) { keeper.post(.close($0)) })
            || isOver(within: limit) { keeper.post(.kill($0)) }
    }

    private func isOver(within limit: Duration, _ post: (@escaping @Sendable () -> Void) -> Bool) -> Bool {
        let over = DispatchSemaphore(value: 0)
        guard post({ over.signal() }) else { return true }
        return over.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) == .success
    }

    /// How far the latest room has locked itself; `nil` until the first one is ready.
    public var level: RoomLevel? { keeper.level }

    /// Waits for `level`; `nil` if the slot is closed or the calling task cancelled before.
    public func reachedLevel() async -> RoomLevel? { await keeper.reachedLevel() }

    /// The process that works, or is ready to work next, for logs; `nil` if there is none.
    public var process: Int32? { keeper.process }
}
