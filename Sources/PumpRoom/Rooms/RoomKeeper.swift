import Glibc
import Synchronization

/// The thread of a slot, and the way to it.
///
/// One thread does all that a slot does: it waits in `poll` for its rooms, for orders, and while something is watched for the
/// next tick. It starts the rooms itself, because a room dies with the thread that started it.
final class RoomKeeper: Sendable {
    enum Order: Sendable {
        case run(RoomJob)
        case cancel(Int64)
        /// Ends the room that is this process, if it is still there.
        case distrust(Int32, why: String)
        case close(@Sendable () -> Void)
        /// Closes it without asking: its processes are killed.
        case kill(@Sendable () -> Void)
    }

    private struct Lock {
        var level: RoomLevel?
        var hasWarned = false
        /// No room will be ready any more.
        var isOver = false
        var lastNumber: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<RoomLevel?, Never>] = [:]
    }

    private struct Inbox {
        var orders: [Order] = []
        /// Readable while there are orders; `nil` once the slot is over.
        var bell: Pipe?
    }

    private let inbox: Mutex<Inbox>
    private let lastJob = Atomic<Int64>(0)
    private let currentProcess = Atomic<Int32>(0)

    private let lock = Mutex(Lock())
    private let warn: @Sendable (String) -> Void

    init(
        _ number: Int,
        _ configuration: RoomConfiguration,
        warn: @escaping @Sendable (String) -> Void = RoomSlot.complain
    ) {
        self.warn = warn
        let bell: Pipe
        do {
            try configuration.validate()
            bell = try Pipe.open()
        } catch let error as SystemError {
            // A worker that cannot open two descriptors at its start cannot work.
            preconditionFailure("room slot \(number): \(error.text)")
        } catch {
            preconditionFailure("room slot \(number): \(error)")
        }
        bell.reading.stopsWaiting()
        bell.writing.stopsWaiting()
        inbox = Mutex(Inbox(bell: bell))
        // The inbox alone holds the bell, so that the end of the slot is its end.
        let ear = bell.reading.number
        RoomThread.start("room \(number)") { [self] in
            SlotLoop(self, configuration, ear: ear).run()
        }
    }

    func nextJob() -> Int64 { lastJob.add(1, ordering: .relaxed).newValue }

    /// Hands over an order; false if the slot is over.
    @discardableResult
    func post(_ order: Order) -> Bool {
        inbox.withLock { inbox in
            guard let bell = inbox.bell else { return false }
            inbox.orders.append(order)
            // A full bell rings already.
            if inbox.orders.count == 1 { _ = retryingInterrupts { write(bell.writing.number, [1], 1) } }
            return true
        }
    }

    /// All orders since the last call, in order.
    func takeOrders() -> [Order] {
        inbox.withLock { inbox in
            guard !inbox.orders.isEmpty, let bell = inbox.bell else { return [] }
            var scratch = [UInt8](repeating: 0, count: 64)
            _ = retryingInterrupts { read(bell.reading.number, &scratch, scratch.count) }
            defer { inbox.orders = [] }
            return inbox.orders
        }
    }

    /// The last orders; no other is taken from here on.
    func end() -> [Order] {
        let disappointed = lock.withLock { lock in
            lock.isOver = true
            defer { lock.waiting = [:] }
            return Array(lock.waiting.values)
        }
        for one in disappointed { one.resume(returning: nil) }
        return inbox.withLock { inbox in
            inbox.bell = nil
            defer { inbox.orders = [] }
            return inbox.orders
        }
    }

    var process: Int32? {
        let process = currentProcess.load(ordering: .acquiring)
        return process == 0 ? nil : process
    }

    var level: RoomLevel? { lock.withLock { $0.level } }

    /// Waits for the first room to be ready; `nil` if the slot is over or the task cancelled before.
    func reachedLevel() async -> RoomLevel? {
        let number = lock.withLock { lock in
            lock.lastNumber += 1
            return lock.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isSettled, level) = lock.withLock { lock in
                    // A cancellation that came before found no waiting task.
                    if lock.level != nil || lock.isOver || Task.isCancelled { return (true, lock.level) }
                    lock.waiting[number] = continuation
                    return (false, nil)
                }
                if isSettled { continuation.resume(returning: level) }
            }
        } onCancel: {
            lock.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: nil)
        }
    }

    /// Keeps what the latest room says of its lock, tells those who wait for it, and warns once where that is not whole.
    func note(_ level: RoomLevel) {
        let (warning, waiting) = lock.withLock { lock in
            lock.level = level
            let warning = lock.hasWarned ? nil : level.warning
            if warning != nil { lock.hasWarned = true }
            defer { lock.waiting = [:] }
            return (warning, Array(lock.waiting.values))
        }
        for one in waiting { one.resume(returning: level) }
        if let warning { warn(warning) }
    }

    func note(process: Int32?) { currentProcess.store(process ?? 0, ordering: .releasing) }
}
