extension World {
    private func isReady(_ index: Int) -> Bool { isServing && !keepers[index].isPaused }

    mutating func keepHouse(_ index: Int) -> Bool {
        guard isReady(index) else { return false }
        let before = ledger
        ledger.keepHouse(server: server, at: t, under: guards)
        guard ledger.tickAt != before.tickAt else { return false }
        remember(before)
        checkReaping(since: before)
        tell { "keeper \(index) keeps house\($0.ledger.quietUntil > $0.t ? ", quietly" : "")" }
        return true
    }

    /// One step of finishing a publication that another process left.
    mutating func finishOther(_ index: Int, dice: UInt64) -> Bool {
        guard !keepers[index].isPaused else { return false }
        let who = "keeper \(index)"
        guard let order = keepers[index].order else {
            guard isServing else { return false }
            let before = ledger
            guard let order = ledger.takeUnfinished(at: t, under: guards) else { return false }
            remember(before)
            tell { _ in "\(who) takes \(order.fence.words) to finish" }
            keepers[index].order = order
            keepers[index].phase = .handed
            return true
        }
        switch keepers[index].phase {
        case .handed:
            switch name(order, by: who) {
            case .named: keepers[index].phase = .named
            case .failed(let reason):
                keepers[index].phase = .spoiled
                keepers[index].reason = reason
            case .left: keepers[index].order = nil
            }
        case .named:
            if guards.stand(.nameIsFlushed) { folder.flush() }
            keepers[index].phase = .flushed
        case .flushed, .spoiled:
            guard isServing else { return false }
            let before = ledger
            let answer: FenceAnswer?
            if keepers[index].phase == .spoiled, let reason = keepers[index].reason {
                answer = ledger.fail(order.fence, reason, at: t, under: guards)
            } else {
                answer = ledger.finish(order.fence, at: t, under: guards)
            }
            tell {
                "  ledger: \($0.keepers[index].phase) \(order.fence.words) of \(who) -> \(answer.map { "\($0)" } ?? "error")"
            }
            if answer == nil { ledger.rollBack(to: before) } else { remember(before) }
            // Sometimes the answer is lost, and the call is repeated.
            if answer != nil && dice % 4 != 0 { keepers[index].order = nil }
        }
        return true
    }

    /// One step of removing attempts' files that have no valid fence.
    mutating func sweep(_ index: Int) -> Bool {
        guard !keepers[index].isPaused else { return false }
        if let doomed = keepers[index].litter.popLast() {
            tell { _ in "keeper \(index) sweeps \(doomed.job).\(doomed.epoch).\(doomed.lease)" }
            folder.remove(doomed)
            return true
        }
        guard isServing else { return false }
        if !guards.stand(.sweepListsFirst) && keepers[index].standing == nil {
            var standing: [AttemptKey] = []
            for job in ledger.jobs.indices {
                let key = AttemptKey(job: job, epoch: ledger.jobs[job].epoch, lease: ledger.jobs[job].lease)
                if ledger.stands(key, under: guards) { standing.append(key) }
            }
            keepers[index].standing = standing
            return true
        }
        let age = guards.stand(.sweepWaits) ? Times.sweepAge : 0
        for file in folder.attempts where now - file.madeAt >= age {
            if !(keepers[index].standing?.contains(file.key) ?? ledger.stands(file.key, under: guards)) {
                keepers[index].litter.append(file.key)
            }
        }
        keepers[index].standing = nil
        return !keepers[index].litter.isEmpty
    }
}
