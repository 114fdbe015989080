import Conversion
import Ledger
import Publishing
import Storage

/// The periodic chores that each worker does for the whole cluster: finishing publications, sweeping and housekeeping.
struct Caretaker: Sendable {
    let shop: Workshop

    /// Finishes half-finished publications of other processes, and sweeps folders.
    func tidy() async {
        while !Task.isCancelled {
            await care {
                let taken = try await shop.finisher.takeUnfinished(in: shop.roots.usable)
                let finished = taken.count { if case .finished = $0.ending { true } else { false } }
                if finished > 0 { shop.say(.finishedForOthers(finished)) }
                for case .postponed(let failure) in taken.map(\.ending) { shop.say(.trouble(failure)) }
            }
            // Sweeps run more often than the search for publications, so that a folder is
            // swept soon after its first use.
            let next = ContinuousClock.now + shop.sessions.current.leaseLength * Double.random(in: 0.8...1.2)
            while .now < next, !Task.isCancelled {
                await care {
                    for (folder, count) in try await shop.sweeper.sweepDue(in: shop.roots.roots, shop.ledger) {
                        shop.say(.swept(folder: folder, files: count))
                    }
                }
                await rest(min(.seconds(1), next - .now))
            }
        }
    }

    /// Checks a root whenever it is set aside, until it is back.
    func watch(_ root: String) async {
        while !Task.isCancelled {
            let seen = shop.roots.signal.count
            guard let due = shop.roots.due(root) else {
                await shop.roots.signal.wait(since: seen)
                continue
            }
            guard .now >= due else {
                await shop.roots.signal.wait(since: seen, until: due)
                continue
            }
            if case .back(let afterNone, let note) = await shop.roots.look(for: root) {
                shop.welcome(root, afterNone: afterNone, note: note)
            } else {
                // The reason may have changed, so send it with a heartbeat.
                shop.pulse.poke()
            }
        }
    }

    /// Checks full file systems until they have space, and then recalls the jobs that were put off.
    func watchDisks() async {
        let (disks, queue) = (shop.disks, BlockingQueue("full file systems"))
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
            for facts in back { shop.say(.fileSystemBack(facts)) }
            shop.pulse.poke()
            await recall(.fileSystemFull)
        }
    }

    /// Checks the mount table while jobs wait for a file system, and recalls them once it is mounted again.
    func watchMounts() async {
        let (mounts, queue) = (shop.mounts, BlockingQueue("lost mounts"))
        while !Task.isCancelled {
            let seen = mounts.signal.count
            guard !mounts.all.isEmpty else {
                await mounts.signal.wait(since: seen)
                continue
            }
            await rest(MountKeeper.interval)
            let back = await queue.run { mounts.look() }
            guard !back.isEmpty else { continue }
            for mount in back { shop.say(.mountBack(mount.mountPoint, note: mount.note)) }
            shop.pulse.poke()
            await recall(.fileSystemMissing)
        }
    }

    /// Recalls the jobs that wait for a file system. Jobs that wait for another one are put off again.
    private func recall(_ reason: FailureCode) async {
        // A job that is just being put off reaches the ledger before the second round.
        for round in 0..<2 {
            if round > 0 { await rest(.seconds(2)) }
            var count = 1
            while count > 0, !Task.isCancelled {
                count = await shop.ask { try await shop.ledger.recall(reason) } ?? 0
            }
        }
    }

    /// Does the ledger's housekeeping about every second while no other process does it. Otherwise checks at
    /// intervals whether another process still does.
    func keepHouse() async {
        while !Task.isCancelled {
            let lease = shop.sessions.current.leaseLength
            // The ledger takes a third of a lease without a tick for an outage, after which it declares no
            // worker lost for a whole lease.
            var wait = lease * Double.random(in: 0.15...0.25)
            await care {
                let report = try await shop.ledger.keepHouse(for: .seconds(1), within: .seconds(5))
                if !report.chores.isEmpty { wait = min(lease / 6, .seconds(Double.random(in: 1...1.5))) }
            }
            await rest(wait)
        }
    }

    /// Hands back jobs that were claimed ahead and now wait behind jobs that turned out to be long.
    func giveWay() async {
        let patience = max(.seconds(5), shop.configuration.workAhead * 5)
        while !Task.isCancelled {
            await rest(.seconds(1))
            let now = ContinuousClock.now
            // Suspects take turns by design. If there is no other worker, they would come back at once.
            let late = shop.board.takeQueued { now - $0.claimedAt > patience && !$0.isSuspect }
            shop.handBack(late, because: .handedBack)
        }
    }

    /// One try. Reports a failure, except that the ledger is away, which other parts report.
    private func care(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            return
        } catch {
            shop.say(.trouble(Failure(error)))
        }
    }

    private func rest(_ duration: Duration) async {
        // If cancelled, the calling loop notices.
        try? await Task.sleep(for: max(duration, Duration.zero), clock: .continuous)
    }
}
