import Conversion
import Ledger
import Publishing
import Storage

/// What each worker does for the whole cluster at intervals: it finishes what others left, sweeps, and keeps house.
struct Caretaker: Sendable {
    let shop: Workshop

    /// Finishes what others left half published, and sweeps.
    func tidy() async {
        while !Task.isCancelled {
            await care {
                let taken = try await shop.finisher.takeUnfinished(in: shop.roots.usable)
                let finished = taken.count { if case .finished = $0.ending { true } else { false } }
                if finished > 0 { shop.say(.finishedForOthers(finished)) }
                for case .postponed(let failure) in taken.map(\.ending) { shop.say(.trouble(failure)) }
            }
            // Sweeps come sooner after the first use of a folder than unfinished publications come by.
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

    /// Looks for a root that was set aside until it is back, again and again.
    func watch(_ root: String) async {
        while !Task.isCancelled {
            let seen = shop.roots.bell.rings
            guard let due = shop.roots.due(root) else {
                await shop.roots.bell.wait(since: seen)
                continue
            }
            guard .now >= due else {
                await shop.roots.bell.wait(since: seen, until: due)
                continue
            }
            if case .back(let afterNone, let note) = await shop.roots.look(for: root) {
                shop.welcome(root, afterNone: afterNone, note: note)
            } else {
                // Why it is not may have changed.
                shop.pulse.poke()
            }
        }
    }

    /// Looks at full file systems until they have room, and then calls back the jobs that were put off.
    func watchDisks() async {
        let (disks, queue) = (shop.disks, BlockingQueue("full file systems"))
        while !Task.isCancelled {
            let seen = disks.bell.rings
            guard let due = disks.due else {
                await disks.bell.wait(since: seen)
                continue
            }
            guard .now >= due else {
                await disks.bell.wait(since: seen, until: due)
                continue
            }
            let back = await queue.run { disks.look() }
            guard !back.isEmpty else { continue }
            for facts in back { shop.say(.fileSystemBack(facts)) }
            shop.pulse.poke()
            await recall(.fileSystemFull)
        }
    }

    /// Looks at the mount table while jobs wait for a file system, and calls them back once it is mounted again.
    func watchMounts() async {
        let (mounts, queue) = (shop.mounts, BlockingQueue("lost mounts"))
        while !Task.isCancelled {
            let seen = mounts.bell.rings
            guard !mounts.all.isEmpty else {
                await mounts.bell.wait(since: seen)
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

    /// Calls back jobs that wait for a file system. Those that wait for another one are put off again.
    private func recall(_ reason: ReleaseReason) async {
        // A job that was being put off meanwhile is told to the ledger before the second round.
        for round in 0..<2 {
            if round > 0 { await rest(.seconds(2)) }
            var count = 1
            while count > 0, !Task.isCancelled {
                count = await shop.ask { try await shop.ledger.recall(reason) } ?? 0
            }
        }
    }

    /// Keeps house about every second while no other process does; otherwise looks at intervals whether one still does.
    func keepHouse() async {
        while !Task.isCancelled {
            let lease = shop.sessions.current.leaseLength
            // A third of a lease without a tick counts as an outage, after which no worker is declared lost for a whole one.
            var wait = lease * Double.random(in: 0.15...0.25)
            await care {
                let report = try await shop.ledger.keepHouse(for: .seconds(1), within: .seconds(5))
                if !report.chores.isEmpty { wait = min(lease / 6, .seconds(Double.random(in: 1...1.5))) }
            }
            await rest(wait)
        }
    }

    /// Hands back what was claimed ahead and waits behind jobs that turned out to be long.
    func giveWay() async {
        let patience = max(.seconds(5), shop.configuration.workAhead * 5)
        while !Task.isCancelled {
            await rest(.seconds(1))
            let now = ContinuousClock.now
            // Suspects take turns by themselves, and would come back at once where there is no other worker.
            let late = shop.board.takeQueued { now - $0.claimedAt > patience && !$0.isSuspect }
            shop.handBack(late, because: .handedBack)
        }
    }

    /// One try; a failure is said, unless it is only that the ledger is away, which others say.
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
        // Cancelled: the loop sees it.
        try? await Task.sleep(for: max(duration, Duration.zero), clock: .continuous)
    }
}
