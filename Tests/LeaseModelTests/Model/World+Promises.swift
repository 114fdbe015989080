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
        for first in processes.indices {
            guard let one = processes[first], believes(one) else { continue }
            for second in processes.indices where second > first {
                guard let other = processes[second], believes(other) else { continue }
                for slot in one.slots where slot.isWorkedOn {
                    for twin in other.slots where twin.isWorkedOn && twin.fence.job == slot.fence.job {
                        if isTaken(slot.fence) || isTaken(twin.fence) { continue }
                        // A failover may also give out job ids again.
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
