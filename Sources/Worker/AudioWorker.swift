import Conversion
public import Ledger
import Publishing
import PumpRoom
import Storage
import Synchronization
import System
import WorkerRules

/// A worker: claims jobs, converts them in rooms, publishes the outputs, and reports. It keeps no state between runs.
public final class AudioWorker: Sendable {
    private let configuration: WorkerConfiguration
    private let ledgerConfiguration: LedgerConfiguration
    private let migrator: Migrator
    private let dispatcher: Dispatcher
    /// Why the ledger will not take this worker back.
    private let refusal = Mutex<LedgerError?>(nil)
    private let onEvent: @Sendable (WorkerEvent) -> Void
    private let pulse: @Sendable (WorkerLoad) -> Void

    /// Opens nothing yet. Throws if the configuration is invalid, or the program of the rooms cannot be used. `onEvent` is
    /// called from any thread, and must not block. `pulse` is called at regular times for as long as the worker makes
    /// progress.
    public init(
        _ configuration: WorkerConfiguration,
        ledger: LedgerConfiguration,
        onEvent: @escaping @Sendable (WorkerEvent) -> Void = { _ in },
        pulse: @escaping @Sendable (WorkerLoad) -> Void = { _ in }
    ) throws {
        try configuration.validate()
        var configuration = configuration
        if configuration.libraries == nil {
            configuration.libraries = try RoomLibraries.asking(configuration.room.executable)
        }
        var ledger = ledger
        // Three connections in all: one to work, one for heartbeats, one to listen. A fleet must not need many.
        ledger.connectionLimit = 1
        try ledger.validate()
        self.configuration = configuration
        ledgerConfiguration = ledger
        migrator = try Migrator(ledger)
        dispatcher = Dispatcher(configuration.rules)
        self.onEvent = onEvent
        self.pulse = pulse
    }

    /// Works until it is stopped. Cancelling the calling task has the effect of `drain`: jobs are
    /// still finished or handed back.
    ///
    /// Throws if it cannot begin: a root cannot be opened, although its file system answers; the ledger cannot be
    /// reached, or must be migrated first. After that only a stop ends it, and a migration after which this binary
    /// cannot work with the ledger (`ledgerSchemaTooNew`); it waits for databases and mounts that go away.
    public func run() async throws {
        // A cancelled task could not finish or hand back its jobs, so the work runs in another task.
        let work = Task { try await self.work() }
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            drain()
        }
    }

    /// How long to wait at the start for a server that is starting. After a crash it may have much to recover.
    private static let startLimit: Duration = .seconds(300)

    /// Stops claiming. Jobs that run have the grace period to end, and are handed back after it.
    public func drain() { dispatcher.report(.stopAsked(deadline: .now + configuration.gracePeriod)) }

    /// Stops all jobs and hands them back.
    public func stopAtOnce() { dispatcher.report(.stopAsked(deadline: .now)) }

    private func work() async throws {
        let roots = try await RootKeeper.open(configuration)
        // A root that does not answer does not count as an ability of the worker.
        if !roots.absences.isEmpty { dispatcher.report(roots.changed) }
        do {
            try await migrator.check(
                waitingFor: Self.startLimit,
                while: { !self.dispatcher.isStopping },
                onWait: { error in self.onEvent(error.map { .ledgerAway($0.failure) } ?? .ledgerBack) }
            )
        } catch let error as LedgerError where error.isTransient && dispatcher.isStopping {
            return
        }
        let calls = LedgerCalls(try JobLedger(ledgerConfiguration), onEvent: onEvent)
        let heartbeat = try Heartbeat(ledgerConfiguration)
        let abilities = dispatcher.read { $0.abilities }
        let entry = try await calls.ledger.register(configuration.registration(abilities))
        onEvent(.started(worker: entry.worker, lease: entry.leaseLength))
        onEvent(.takes(roots: configuration.placesOfRoots, queues: configuration.queues))
        dispatcher.report(.registered(entry, abilities: abilities))

        // The worker reports incomplete locks as an event instead.
        let rooms = (0..<configuration.slots).map { number in
            RoomSlot(number, configuration: configuration.room, warn: { _ in })
        }
        let stages = Stages(configuration, onEvent: onEvent)
        await run(stages, rooms, roots, calls, heartbeat)
        // All at once: a room that waits in the kernel takes its time.
        for room in rooms { room.dismiss() }
        for room in rooms { await room.close() }
        await sayGoodbye(calls)
        await stages.files.settle(within: .seconds(2))
        await heartbeat.close()
        await calls.ledger.close()
        stages.beater.end()
        stages.ticker.end()
        if let error = refusal.withLock({ $0 }) { throw error }
    }

    /// Runs all stages until the worker has stopped.
    private func run(
        _ stages: Stages,
        _ rooms: [RoomSlot],
        _ roots: RootKeeper,
        _ calls: LedgerCalls,
        _ heartbeat: Heartbeat
    ) async {
        let storage = StorageHealth(
            configuration,
            roots: roots,
            files: stages.files,
            dispatcher,
            stages.beater,
            onEvent: onEvent
        )
        storage.leaveSilentRoots()
        storage.tryWriting()
        let parts = Parts(
            stages: stages,
            calls: calls,
            storage: storage,
            finisher: PublicationFinisher(calls.ledger, files: stages.files),
            sweeper: Sweeper(
                age: configuration.sweepAge,
                interval: configuration.sweepInterval,
                files: stages.files
            )
        )
        await withDiscardingTaskGroup { group in
            startBeating(in: &group, parts, rooms, heartbeat)
            startClaiming(in: &group, parts)
            startConverting(in: &group, parts, rooms)
            startPublishing(in: &group, parts)
            startCaretaking(in: &group, parts, roots)

            dispatcher.begin(stages)
            await stages.end.wait(since: 0)
            group.cancelAll()
            stages.files.stop()
        }
    }

    // MARK: - Starting the stages

    /// What the stages share.
    private struct Parts: Sendable {
        let stages: Stages
        let calls: LedgerCalls
        let storage: StorageHealth
        let finisher: PublicationFinisher
        let sweeper: Sweeper
        let notifications = LedgerNotifications()
    }

    private func startBeating(
        in group: inout DiscardingTaskGroup,
        _ parts: Parts,
        _ rooms: [RoomSlot],
        _ heartbeat: Heartbeat
    ) {
        let (ticker, beater, storage) = (parts.stages.ticker, parts.stages.beater, parts.storage)
        let level = ReachedLevel()
        let pulse = Pulse(
            interval: configuration.pulseInterval,
            threads: [ticker.executor, beater.executor],
            dispatcher: dispatcher,
            report: pulse
        )
        group.addTask { await pulse.run() }
        group.addTask { if let reached = await level.wait(for: rooms) { self.onEvent(.rooms(reached)) } }
        group.addTask(executorPreference: ticker.executor) { await ticker.run(self.dispatcher) }
        group.addTask(executorPreference: beater.executor) {
            await beater.run(self.dispatcher, heartbeat) { status in
                status.sandbox = level.reached?.description
                storage.describe(&status)
            }
        }
    }

    /// Starts what asks the ledger: for a registration, and for jobs.
    private func startClaiming(in group: inout DiscardingTaskGroup, _ parts: Parts) {
        let registrar = Registrar(
            abilities: parts.stages.registrations,
            calls: parts.calls,
            dispatcher: dispatcher,
            configuration: configuration,
            migrator: migrator,
            refuse: { error in
                self.refusal.withLock { $0 = error }
                self.stopAtOnce()
            }
        )
        group.addTask { await registrar.run() }
        let claimer = Claimer(
            questions: parts.stages.questions,
            calls: parts.calls,
            dispatcher: dispatcher,
            storage: parts.storage,
            beater: parts.stages.beater,
            queues: configuration.queues,
            notifications: parts.notifications
        )
        group.addTask { await claimer.run() }
        group.addTask { await claimer.listen() }
    }

    /// Starts the pipelines of each slot, and a digester for what they convert.
    private func startConverting(in group: inout DiscardingTaskGroup, _ parts: Parts, _ rooms: [RoomSlot]) {
        let services = PipelineServices(
            dispatcher: dispatcher,
            ledger: parts.calls.ledger,
            calls: parts.calls,
            storage: parts.storage,
            outputs: parts.stages.outputs,
            conversions: parts.stages.conversions,
            sweeper: parts.sweeper,
            codecs: configuration.codecs,
            room: configuration.room
        )
        for (slot, room) in rooms.enumerated() {
            for jobs in parts.stages.starts(in: slot) {
                let pipeline = SlotPipeline(jobs: jobs, room: room, slot: slot, services: services)
                group.addTask { await pipeline.run() }
            }
            let digester = Digester(
                jobs: parts.stages.digests,
                outputs: parts.stages.outputs,
                dispatcher: dispatcher,
                storage: parts.storage
            )
            group.addTask { await digester.run() }
        }
    }

    private func startPublishing(in group: inout DiscardingTaskGroup, _ parts: Parts) {
        let (stages, storage) = (parts.stages, parts.storage)
        let publisher = Publisher(stages.steps, stages.outputs, parts.calls, dispatcher, storage, parts.finisher)
        group.addTask { await publisher.run() }
        let discarder = Discarder(outputs: stages.discards, storage: storage, onEvent: onEvent)
        group.addTask { await discarder.run() }
    }

    private func startCaretaking(in group: inout DiscardingTaskGroup, _ parts: Parts, _ roots: RootKeeper) {
        let caretaker = Caretaker(
            configuration: configuration,
            calls: parts.calls,
            dispatcher: dispatcher,
            storage: parts.storage,
            beater: parts.stages.beater,
            finisher: parts.finisher,
            sweeper: parts.sweeper,
            notifications: parts.notifications
        )
        group.addTask { await caretaker.tidy() }
        group.addTask { await caretaker.watchDisks() }
        group.addTask { await caretaker.watchMounts() }
        group.addTask { await caretaker.watchDenials() }
        for root in roots.names {
            group.addTask { await caretaker.watch(root) }
            group.addTask { await caretaker.listen(to: root) }
        }
        if configuration.keepsHouse { group.addTask { await caretaker.keepHouse() } }
    }

    // MARK: - Stopping

    /// Hands back the jobs that the ledger still counts as held. If the ledger cannot be
    /// reached, the lease ends by itself.
    private func sayGoodbye(_ calls: LedgerCalls) async {
        guard let worker = dispatcher.worker else { return }
        var handedBack: Int?
        do {
            handedBack = try await calls.ledger.stop(worker, within: .seconds(5))
        } catch {
            onEvent(.trouble(Failure(error)))
        }
        onEvent(.stopped(worker: worker, handedBack: handedBack))
    }
}

/// How far the rooms are locked; `nil` until the first one is ready.
private final class ReachedLevel: Sendable {
    private let level = Mutex<RoomLevel?>(nil)

    var reached: RoomLevel? { level.withLock { $0 } }

    func wait(for rooms: [RoomSlot]) async -> RoomLevel? {
        guard let reached = await rooms.first?.reachedLevel() else { return nil }
        level.withLock { $0 = reached }
        return reached
    }
}
