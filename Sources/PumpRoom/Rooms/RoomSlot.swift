public import Conversion

/// A place for one conversion at a time, in a process of its own. What is given while one is under way waits its turn, in order.
public final class RoomSlot: Sendable {
    private let keeper: RoomKeeper

    /// Opens the slot and starts its first room. `configuration` must be valid.
    public init(_ number: Int, configuration: RoomConfiguration = RoomConfiguration()) {
        keeper = RoomKeeper(number, configuration)
    }

    deinit { keeper.post(.close({})) }

    /// Carries out `work`; cancelling the calling task ends it as a failure with the code `cancelled`.
    ///
    /// `report` is called now and then while frames move, on the slot's own thread, and must not block. Of work that is
    /// cancelled before it began, the room may hold the descriptors for a moment longer; it does not touch what is behind them.
    public func run(
        _ work: RoomWork,
        report: @escaping @Sendable (ConversionProgress) -> Void = { _ in }
    ) async -> RoomOutcome {
        let (job, ticket) = (keeper.nextJob(), RoomTicket())
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let finish: @Sendable (RoomOutcome) -> Void = { continuation.resume(returning: $0) }
                let order = RoomJob(id: job, work: work, report: report, finish: finish, ticket: ticket)
                if !keeper.post(.run(order)) { finish(.handedBack) }
            }
        } onCancel: {
            ticket.cancel()
            keeper.post(.cancel(job))
        }
    }

    /// Ends what is under way as `cancelled`, hands back what waits, and returns when the room is gone.
    ///
    /// What comes later is handed back. Closing a closed slot waits for the same end.
    public func close() async {
        await withCheckedContinuation { continuation in
            if !keeper.post(.close({ continuation.resume() })) { continuation.resume() }
        }
    }

    /// The process that works or would work next, for logs; `nil` while there is none.
    public var process: Int32? { keeper.process }
}
