extension World {
    /// Looks at everything that must be so at any moment.
    mutating func check() {
        if violation != nil { return }
        checkOwners()
        checkFiles()
    }

    /// No two processes work on one job unless the ledger has taken it from one of them, which may not have heard of it.
    ///
    /// That is so of a claim that a failover has lost, and of what housekeeping took from a worker that was silent: such a worker
    /// may go on for as long as it hears nothing, and publishes nothing.
    private mutating func checkOwners() {
        for first in processes.indices {
            guard let one = processes[first], believes(one) else { continue }
            for second in processes.indices where second > first {
                guard let other = processes[second], believes(other) else { continue }
                for slot in one.slots where slot.isWorkedOn {
                    for twin in other.slots where twin.isWorkedOn && twin.fence.job == slot.fence.job {
                        if isTaken(slot.fence) || isTaken(twin.fence) { continue }
                        // Ids of jobs may be given again after a failover as well.
                        if slot.order.request == twin.order.request { broke(.twoOwners) }
                    }
                }
            }
        }
    }

    private func isTaken(_ fence: Fence) -> Bool {
        lostClaims.contains(fence) || ledger.takenAway.contains(fence)
    }

    private func believes(_ me: WorkerProcess) -> Bool {
        me.name != nil && now < me.deadline
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
                // A worker whose order was lost by a failover, after it was told that it was committed.
                if request.policy == .replace, let key = file.key, lostOrders.contains(where: { $0.key == key }) {
                    continue
                }
            } else if content.request >= 0 && scenario.requests[content.request].policy == .replace {
                continue
            }
            broke(.wrongFile)
        }
    }

    /// Looks at everything that must be so once nothing is left to do.
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
