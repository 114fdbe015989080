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
        case close(@Sendable () -> Void)
    }

    private struct Lock {
        var level: RoomLevel?
        var hasWarned = false
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
        inbox.withLock { inbox in
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

    /// Keeps what the latest room says of its lock, and warns once where that is not whole.
    func note(_ level: RoomLevel) {
        let warning = lock.withLock { lock -> String? in
            lock.level = level
            guard !lock.hasWarned, let warning = level.warning else { return nil }
            lock.hasWarned = true
            return warning
        }
        if let warning { warn(warning) }
    }

    func note(process: Int32?) { currentProcess.store(process ?? 0, ordering: .releasing) }
}
