import Conversion
public import Ledger
import Publishing
import PumpRoom
import Storage

/// A worker: claims jobs, converts them in rooms, publishes the outputs, and reports. It keeps no state between runs.
public final class AudioWorker: Sendable {
    private let configuration: WorkerConfiguration
    private let ledgerConfiguration: LedgerConfiguration
    private let stopOrder = StopOrder()
    private let tell: @Sendable (WorkerEvent) -> Void

    /// Opens nothing yet. Throws if the configuration is invalid. `tell` is called from any thread, and must not block.
    public init(
        _ configuration: WorkerConfiguration,
        ledger: LedgerConfiguration,
        tell: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) throws {
        try configuration.validate()
        var ledger = ledger
        // Three connections in all: one to work, one for heartbeats, one to listen. A fleet must not need many.
        ledger.connectionLimit = 1
        try ledger.validate()
        self.configuration = configuration
        ledgerConfiguration = ledger
        self.tell = tell
    }

    /// Works until it is stopped. Cancelling the calling task has the effect of `drain`: jobs are
    /// still finished or handed back.
    ///
    /// Throws if it cannot begin: a root cannot be opened, the ledger cannot be reached, or the ledger must be
    /// migrated first. After that only a stop ends it; it waits for databases and mounts that go away.
    public func run() async throws {
        // A cancelled task could not finish or hand back its jobs, so the work runs in another task.
        let work = Task { try await self.work() }
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            drain()
        }
    }

    /// Stops claiming. Jobs that run have the grace period to end, and are handed back after it.
    public func drain() { stopOrder.give(by: .now + configuration.gracePeriod) }

    /// Stops all jobs and hands them back.
    public func stopAtOnce() { stopOrder.give(by: .now) }

    private func work() async throws {
        let roots = try RootKeeper(configuration)
        try await Migrator(ledgerConfiguration).check()
        let ledger = try JobLedger(ledgerConfiguration)
        let heartbeat = try Heartbeat(ledgerConfiguration)
        let shop = Workshop(configuration, ledger: ledger, heartbeat: heartbeat, roots: roots, stopOrder, tell: tell)
        let registration = shop.registration
        let entry = try await ledger.register(registration)
        shop.sessions.begin(shop.session(entry, abilities: registration.abilities))
        shop.say(.started(worker: entry.worker, lease: entry.leaseLength))
        shop.say(.takes(roots: configuration.roots, queues: configuration.queues))

        // The worker reports incomplete locks as an event instead.
        let rooms = (0..<configuration.slots).map { number in
            RoomSlot(number, configuration: configuration.room, warn: { _ in })
        }
        await withDiscardingTaskGroup { group in
            group.addTask { await shop.announceRooms(rooms) }
            group.addTask(executorPreference: shop.pulse) { await Beater(shop: shop).run() }
            group.addTask(executorPreference: shop.pulse) { await Guardian(shop: shop).run() }
            let claimer = Claimer(shop)
            group.addTask { await claimer.run() }
            group.addTask { await claimer.listen() }
            group.addTask { await Publisher(shop).run() }
            for (slot, room) in rooms.enumerated() {
                let files = BlockingQueue("files of slot \(slot)")
                for pipeline in 0..<Self.pipelinesPerSlot {
                    group.addTask {
                        await SlotPipeline(shop: shop, room: room, slot: slot, pipeline: pipeline, files: files).run()
                    }
                }
                let digests = BlockingQueue("digests \(slot)")
                group.addTask { await Digester(shop: shop, files: digests).run() }
            }
            let caretaker = Caretaker(shop: shop)
            group.addTask { await caretaker.tidy() }
            group.addTask { await caretaker.giveWay() }
            group.addTask { await caretaker.watchDisks() }
            group.addTask { await caretaker.watchMounts() }
            for root in roots.names { group.addTask { await caretaker.watch(root) } }
            if configuration.keepsHouse { group.addTask { await caretaker.keepHouse() } }

            await Drain(shop: shop).run()
            group.cancelAll()
        }
        for room in rooms { await room.close() }
        await sayGoodbye(shop)
    }

    /// Jobs that one slot works on at once while jobs are short: one converts, the others are being prepared.
    private static let pipelinesPerSlot = 3

    /// Hands back the jobs that the ledger still counts as held. If the ledger cannot be
    /// reached, the lease ends by itself.
    private func sayGoodbye(_ shop: Workshop) async {
        let session = shop.sessions.current
        var handedBack: Int?
        do {
            handedBack = try await shop.ledger.stop(session.worker, within: .seconds(5))
        } catch {
            shop.say(.trouble(Failure(error)))
        }
        await shop.heartbeat.close()
        await shop.ledger.close()
        shop.pulse.end()
        shop.say(.stopped(worker: session.worker, handedBack: handedBack))
    }
}
