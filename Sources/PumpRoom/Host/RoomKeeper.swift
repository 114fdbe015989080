import Glibc
import Synchronization
import System

/// A slot's thread and the channel to it.
///
/// One thread does all the work of a slot. It waits in `poll` for its rooms, for orders and, while it watches a
/// room, for the next tick. It starts the rooms itself, because a room dies with the thread that started it.
final class RoomKeeper: Sendable {
    enum Order: Sendable {
        case run(RoomJob)
        case cancel(Int64)
        /// The answer to a room's question for bytes of a source: how many there are, or `nil` if they cannot be had.
        case filled(job: Int64, number: Int64, count: Int?)
        /// Kills the room with this process id, if the slot still has it.
        case distrust(Int32, why: String)
        case close(@Sendable () -> Void)
        /// Closes the slot and kills its processes at once.
        case kill(@Sendable () -> Void)
    }

    private struct Lock {
        var level: RoomLevel?
        var hasWarned = false
        /// Whether the slot has ended, so that no room will become ready any more.
        var isOver = false
        var lastNumber: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<RoomLevel?, Never>] = [:]
    }

    private struct Inbox {
        var orders: [Order] = []
        /// Readable while there are orders; `nil` once the slot has ended.
        var wakeUp: Pipe?
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
        let wakeUp: Pipe
        do {
            try configuration.validate()
            wakeUp = try Pipe.open()
        } catch let error as SystemError {
            // A worker that cannot open two descriptors at its start cannot work.
            preconditionFailure("room slot \(number): \(error.text)")
        } catch {
            preconditionFailure("room slot \(number): \(error)")
        }
        wakeUp.reading.stopsWaiting()
        wakeUp.writing.stopsWaiting()
        inbox = Mutex(Inbox(wakeUp: wakeUp))
        // Only the inbox holds the pipe, so it closes when the slot ends.
        let pollDescriptor = wakeUp.reading.number
        SystemThread.detach("room \(number)") { [self] in
            SlotLoop(self, configuration, pollDescriptor: pollDescriptor).run()
        }
    }

    func nextJob() -> Int64 { lastJob.add(1, ordering: .relaxed).newValue }

    /// Queues an order. Returns false if the slot has ended.
    @discardableResult
    func post(_ order: Order) -> Bool {
        inbox.withLock { inbox in
            guard let wakeUp = inbox.wakeUp else { return false }
            inbox.orders.append(order)
            // The pipe is already readable if there were other orders.
            if inbox.orders.count == 1 { _ = retryingInterrupts { write(wakeUp.writing.number, [1], 1) } }
            return true
        }
    }

    /// All orders since the last call, in order.
    func takeOrders() -> [Order] {
        inbox.withLock { inbox in
            guard !inbox.orders.isEmpty, let wakeUp = inbox.wakeUp else { return [] }
            var scratch = [UInt8](repeating: 0, count: 64)
            _ = retryingInterrupts { read(wakeUp.reading.number, &scratch, scratch.count) }
            defer { inbox.orders = [] }
            return inbox.orders
        }
    }

    /// Returns the last orders; no order is accepted afterwards.
    func end() -> [Order] {
        let refused = lock.withLock { lock in
            lock.isOver = true
            defer { lock.waiting = [:] }
            return Array(lock.waiting.values)
        }
        for one in refused { one.resume(returning: nil) }
        return inbox.withLock { inbox in
            inbox.wakeUp = nil
            defer { inbox.orders = [] }
            return inbox.orders
        }
    }

    var process: Int32? {
        let process = currentProcess.load(ordering: .acquiring)
        return process == 0 ? nil : process
    }

    var level: RoomLevel? { lock.withLock { $0.level } }

    /// Waits until the first room is ready; `nil` if the slot ends or the task is cancelled before.
    func reachedLevel() async -> RoomLevel? {
        let number = lock.withLock { lock in
            lock.lastNumber += 1
            return lock.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isSettled, level) = lock.withLock { lock in
                    // If the task was cancelled before, the handler found no continuation to resume.
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

    /// Stores the level of the latest room and resumes the tasks that wait for it. Warns
    /// once if the lock is incomplete.
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
