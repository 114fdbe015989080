import Conversion
import Ledger
import Publishing
import Storage
import System

/// The periodic chores that each worker does for the whole cluster: finishing publications, sweeping and housekeeping.
struct Caretaker: Sendable {
    let configuration: WorkerConfiguration
    let calls: LedgerCalls
    let dispatcher: Dispatcher
    let storage: StorageHealth
    let beater: Beater
    let finisher: PublicationFinisher
    let sweeper: Sweeper
    let notifications: LedgerNotifications

    /// Finishes half-finished publications of other processes, and sweeps folders.
    func tidy() async {
        while !Task.isCancelled {
            await care {
                let taken = try await finisher.takeUnfinished(in: storage.roots.usable)
                let finished = taken.count { if case .finished = $0.ending { true } else { false } }
                if finished > 0 { calls.onEvent(.finishedForOthers(finished)) }
                for case .postponed(let failure) in taken.map(\.ending) { calls.onEvent(.trouble(failure)) }
            }
            // Sweeps run more often than the search for publications, so that a folder is
            // swept soon after its first use.
            let next = ContinuousClock.now + dispatcher.leaseLength * Double.random(in: 0.8...1.2)
            while .now < next, !Task.isCancelled {
                let seen = sweeper.signal.count
                await care {
                    for (folder, count) in try await sweeper.sweepDue(in: storage.roots.roots, calls.ledger) {
                        calls.onEvent(.swept(folder: folder, files: count))
                    }
                }
                await sweeper.signal.wait(since: seen, until: min(next, sweeper.due ?? next))
                // Many folders become due together.
                await rest(min(.seconds(1), next - .now))
            }
        }
    }

    /// Checks a root whenever it is set aside, until it is back.
    func watch(_ root: String) async {
        while !Task.isCancelled {
            let seen = storage.roots.signal.count
            guard let due = storage.roots.due(root) else {
                await storage.roots.signal.wait(since: seen)
                continue
            }
            guard .now >= due else {
                await storage.roots.signal.wait(since: seen, until: due)
                continue
            }
            await storage.look(for: root)
        }
    }

    /// Asks a root in use from time to time for an answer, and sets it aside if it gives none.
    func listen(to root: String) async {
        while !Task.isCancelled {
            await rest(configuration.silenceLimit / 2)
            // `watch` checks a root that is set aside.
            if storage.roots.due(root) == nil { await storage.listen(to: root) }
        }
    }

    /// Checks full file systems until they have space, and then recalls the jobs that were put off.
    func watchDisks() async {
        let (disks, queue) = (storage.disks, BlockingQueue("full file systems"))
        while !Task.isCancelled {
            let seen = disks.signal.count
            guard let due = disks.due else {
                await disks.signal.wait(since: seen)
                continue
            }
            guard .now >= due else {
                await disks.signal.wait(since: seen, until: due)
                continue
            }
            let back = await queue.run { disks.look() }
            guard !back.isEmpty else { continue }
            for facts in back { calls.onEvent(.fileSystemBack(facts)) }
            beater.hurry()
            await recall(.fileSystemFull)
        }
    }

    /// Checks the mount table while jobs wait for a file system, and recalls them once it is mounted again.
    func watchMounts() async {
        let mounts = storage.mounts
        await watch("lost mounts", every: MountKeeper.interval, mounts.signal, recalling: .fileSystemMissing) {
            !mounts.all.isEmpty
        } look: {
            mounts.look().map { .mountBack($0.mountPoint, note: $0.note) }
        }
    }

    /// Tries to write to the roots that jobs may not write to, and recalls the jobs once they may.
    func watchDenials() async {
        let (writes, roots) = (storage.writes, storage.roots)
        await watch("denied roots", every: WriteKeeper.interval, writes.signal, recalling: .rootNotWritable) {
            !writes.all.isEmpty
        } look: {
            writes.look(in: roots.usable).map { .rootAllowed($0) }
        }
    }

    /// While something is set aside, looks at intervals what is back, reports it, and recalls the jobs that waited for it.
    private func watch(
        _ what: String,
        every interval: Duration,
        _ signal: WakeSignal,
        recalling reason: FailureCode,
        while isAnythingAside: () -> Bool,
        look: @escaping @Sendable () -> [WorkerEvent]
    ) async {
        let queue = BlockingQueue(what)
        while !Task.isCancelled {
            let seen = signal.count
            guard isAnythingAside() else {
                await signal.wait(since: seen)
                continue
            }
            await rest(interval)
            let back = await queue.run(look)
            guard !back.isEmpty else { continue }
            for event in back { calls.onEvent(event) }
            beater.hurry()
            await recall(reason)
        }
    }

    /// Recalls the jobs that wait for a file system or a root. Jobs that wait for another one are put off again.
    private func recall(_ reason: FailureCode) async {
        // A job that is just being put off reaches the ledger before the second round.
        for round in 0..<2 {
            if round > 0 { await rest(.seconds(2)) }
            var count = 1
            while count > 0, !Task.isCancelled {
                count = await calls.ask { try await calls.ledger.recall(reason) } ?? 0
            }
        }
    }

    /// Does the ledger's housekeeping about every second while no other process does it, or more rarely while there is
    /// nothing to do. Otherwise checks at intervals whether another process still does.
    func keepHouse() async {
        // Whether a notification has ended a rest of this process.
        var isHurried = false
        while !Task.isCancelled {
            let lease = dispatcher.leaseLength
            // The ledger takes a third of a lease without a tick for an outage, after which it declares no
            // worker lost for a whole lease.
            var wait = lease * Double.random(in: 0.15...0.25)
            let seen = notifications.signal.count
            var rests = false
            await care {
                let report = try await calls.ledger.keepHouse(
                    for: .seconds(1),
                    within: .seconds(5),
                    rests: notifications.pace.isListening
                )
                // A notification soon after a tick comes too early for the next one, which is still this process's.
                guard !report.chores.isEmpty || isHurried else { return }
                if let rest = report.rest {
                    // Later than a coordinator, so that a coordinator that has started meanwhile takes over.
                    wait = min(wait, rest + .seconds(Double.random(in: 0.5...1.5)))
                    rests = true
                } else {
                    wait = min(lease / 6, .seconds(Double.random(in: 1...1.5)))
                }
            }
            // Only the worker that does the housekeeping wakes at a notification. Otherwise all workers would.
            if rests {
                await notifications.signal.wait(since: seen, until: .now + wait)
            } else {
                await rest(wait)
            }
            isHurried = rests && notifications.signal.count != seen
        }
    }

    /// One try. Reports a failure, except that the ledger is away, which other parts report.
    private func care(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            return
        } catch {
            calls.onEvent(.trouble(Failure(error)))
        }
    }

    private func rest(_ duration: Duration) async {
        // If cancelled, the calling loop notices.
        try? await Task.sleep(for: max(duration, Duration.zero), clock: .continuous)
    }
}
