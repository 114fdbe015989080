import Conversion
import WorkerRules

extension World {
    /// Checks the promises that hold at every moment.
    mutating func check() {
        if violation != nil { return }
        checkOwners()
        checkFiles()
    }

    /// Checks that no two processes work on one job, unless the ledger has taken the job from one that may not know
    /// yet.
    ///
    /// The exceptions are claims that a failover lost, and jobs that housekeeping took from a silent worker. Such a
    /// worker may go on until it receives an answer, but publishes nothing.
    private mutating func checkOwners() {
        let workers = processes.compactMap(\.self).filter { !$0.conversions.isEmpty || !$0.made.isEmpty }
        for (place, one) in workers.enumerated() {
            for other in workers[(place + 1)...] {
                for job in one.workedOn {
                    for twin in other.workedOn where twin.job == job.job {
                        if isTaken(Fence(job)) || isTaken(Fence(twin)) { continue }
                        // A failover may also give out job ids again.
                        guard one.orders[job]?.request == other.orders[twin]?.request else { continue }
                        if believes(one), believes(other) { broke(.twoOwners) }
                    }
                }
            }
        }
    }

    private func isTaken(_ fence: Fence) -> Bool {
        lostClaims.contains(fence) || ledger.takenAway.contains(fence)
    }

    private func believes(_ me: WorkerProcess) -> Bool {
        me.state.holds(at: moment)
    }

    private mutating func checkFiles() {
        for place in 0..<scenario.places {
            if let file = folder.final(place), !file.content.isWhole { broke(.tornFile) }
        }
        if let place = scenario.occupied, folder.final(place)?.content != .foreign {
            let mayReplace = scenario.requests.contains { $0.place == place && $0.policy == .replace }
            if !mayReplace { broke(.foreignFileTouched) }
        }
        for job in ledger.jobs where job.state == .completed {
            let request = scenario.requests[job.request]
            guard let order = job.order, let file = folder.final(request.place) else {
                broke(.missingFile)
                continue
            }
            let content = file.content
            if content == order.content { continue }
            if content.request == job.request {
                // A failover lost the publication of this worker after the worker had received the answer to its
                // commit.
                if request.policy == .replace, let key = file.key, lostOrders.contains(where: { $0.key == key }) {
                    continue
                }
            } else if content.request >= 0 && scenario.requests[content.request].policy == .replace {
                continue
            }
            broke(.wrongFile)
        }
    }

    /// Checks the promises that hold once nothing is left to do.
    mutating func checkEnd() {
        if violation != nil { return }
        if ledger.hasLiveJobs { return broke(.neverEnds) }
        if !folder.attempts.isEmpty { return broke(.litter) }
        for request in promised.indices {
            let isThere = ledger.jobs.contains { $0.request == request }
            if promised[request] && !isThere { broke(.jobLost) }
        }
        for job in ledger.jobs.indices {
            let records = ledger.attempts.filter { $0.job == job }.count
            if records != ledger.jobs[job].epoch { broke(.attemptErased) }
        }
    }
}
