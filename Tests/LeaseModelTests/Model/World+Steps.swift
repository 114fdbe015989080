import WorkerRules

extension World {
    /// Performs `step` and checks every promise. `false`: it was not possible, and no time has passed.
    mutating func perform(_ step: Step) -> Bool {
        pass(step.wait)
        let index = step.who % processes.count
        let keeper = step.who % keepers.count
        let isDone: Bool
        switch step.kind {
        case .work: isDone = processes[index] == nil ? resume(index) : work(index, dice: step.dice)
        case .beat: isDone = beat(index)
        case .deliver: isDone = deliverNext(from: step.who, dice: step.dice)
        case .answer: isDone = answerNext(from: step.who)
        case .keep: isDone = keepHouse(keeper)
        case .finishOther: isDone = finishOther(keeper, dice: step.dice)
        case .sweep: isDone = sweep(keeper)
        case .leap: isDone = leap(index, dice: step.dice)
        case .client: isDone = people(step.who, dice: step.dice)
        case .breakConnection: isDone = breakConnection(step.who)
        case .pause: isDone = pause(step.who)
        case .resume:
            isDone = resume(step.who) || !isServing
            if !isServing { comeUp() }
        case .kill: isDone = kill(step.who)
        case .drain: isDone = drain(index)
        case .badDisk:
            isDone = !isDiskBad
            isDiskBad = true
        case .cutLedger: isDone = cutLedger(index, dice: step.dice)
        case .cutStorage: isDone = cutStorage(index)
        case .mend: isDone = mend(index)
        case .nameLate: isDone = nameLate(dice: step.dice)
        case .outage:
            isDone = isServing
            goDown()
        case .restart:
            isDone = true
            tell { _ in "the server restarts" }
            restart()
        case .failover:
            isDone = true
            let skew = [0, 0, -20_000, 20_000, -3_000, 3_000][Int((step.dice >> 8) % 6)]
            failOver(losing: Int(step.dice % 6), skew: skew)
            tell {
                "a replica takes over\($0.scenario.isSynchronous ? "" : " that lacks \(step.dice % 6) commits"), clock \(skew)"
            }
        case .powerCut:
            isDone = true
            tell { _ in "power cut" }
            for index in processes.indices { kill(index) }
            for index in keepers.indices { keepers[index] = Keeper() }
            lateNames.removeAll()
            folder.cutPower(keepsNames: step.dice % 2 == 0)
            for request in shown.indices where folder.final(scenario.requests[request].place)?.content != shown[request]
            {
                // This content was seen before it was durable, and before the ledger called the job completed.
                shown[request] = nil
            }
            restart()
        }
        if isDone { check() } else { takeBack(step.wait) }
        return isDone
    }

    /// Lets time pass until about the end of a lease, by the worker's clock or by the ledger's.
    private mutating func leap(_ index: Int, dice: UInt64) -> Bool {
        guard let me = processes[index], let session = me.state.session, let name = me.names[session.worker] else {
            return false
        }
        var end = Production.time(session.end)
        if dice % 2 == 0 && name.id < ledger.workers.count { end = ledger.workers[name.id].leaseUntil - skew }
        end += [-2_500, -100, 1, 600][Int((dice >> 8) % 4)]
        guard end > now && end < now + Times.lease else { return false }
        // In half the cases a coordinator does the housekeeping meanwhile. Otherwise the gap counts as an outage.
        let keeper = Int((dice >> 16) % 4)
        while keeper < keepers.count && end - now > 1_000 {
            pass(1_000)
            _ = keepHouse(keeper)
        }
        pass(end - now)
        tell { _ in "time passes" }
        return true
    }

    // MARK: - Network

    private func place(from who: Int, where isWanted: (Call) -> Bool) -> Int? {
        guard !calls.isEmpty else { return nil }
        for offset in calls.indices {
            let index = (who + offset) % calls.count
            if isWanted(calls[index]) { return index }
        }
        return nil
    }

    /// Calls without a waiting caller arrive late, when they do the most harm.
    private mutating func deliverNext(from who: Int, dice: UInt64) -> Bool {
        guard let index = place(from: who, where: { $0.answer == nil && ($0.isAwaited || dice % 8 == 0) })
        else { return false }
        carryOut(index)
        return true
    }

    private mutating func answerNext(from who: Int) -> Bool {
        let paused = processes.compactMap { $0?.isPaused == true ? $0?.number : nil }
        guard
            let index = place(
                from: who,
                where: { call in call.answer != nil && !(call.process.map { paused.contains($0) } ?? false) }
            ), let answer = calls[index].answer
        else { return false }
        let call = calls.remove(at: index)
        deliver(answer, of: call)
        return true
    }

    /// The caller gets no answer. Its request may take effect all the same, at any time.
    private mutating func breakConnection(_ who: Int) -> Bool {
        guard let index = place(from: who, where: { $0.isAwaited }) else { return false }
        tell { "the connection breaks under: \($0.calls[index].operation.words)" }
        let call = calls[index]
        calls[index].isAwaited = false
        if call.answer != nil { calls.remove(at: index) }
        deliver(.unknown, of: call)
        return true
    }

    // MARK: - Processes

    private mutating func pause(_ who: Int) -> Bool {
        let index = who % (processes.count + keepers.count)
        if index >= processes.count {
            keepers[index - processes.count].isPaused = true
            tell { "keeper \(index - $0.processes.count) is stopped (SIGSTOP)" }
            return true
        }
        guard processes[index]?.isPaused == false else { return false }
        processes[index]?.isPaused = true
        tell { "#\($0.processes[index]?.number ?? 0) is stopped (SIGSTOP)" }
        return true
    }

    /// Resumes a stopped process, or starts a dead one.
    mutating func resume(_ who: Int) -> Bool {
        let index = who % (processes.count + keepers.count)
        if index >= processes.count {
            guard keepers[index - processes.count].isPaused else { return false }
            keepers[index - processes.count].isPaused = false
            tell { "keeper \(index - $0.processes.count) goes on" }
            return true
        }
        guard let process = processes[index] else {
            start(index)
            tell { "#\($0.processes[index]?.number ?? 0) starts" }
            return true
        }
        guard process.isPaused else { return false }
        processes[index]?.isPaused = false
        tell { _ in "#\(process.number) goes on" }
        return true
    }

    @discardableResult
    private mutating func kill(_ who: Int) -> Bool {
        let index = who % (processes.count + keepers.count)
        if index >= processes.count {
            tell { "keeper \(index - $0.processes.count) is killed" }
            keepers[index - processes.count] = Keeper()
            return true
        }
        guard let process = processes[index] else { return false }
        tell { _ in "#\(process.number) is killed" }
        processes[index] = nil
        for place in calls.indices.reversed() where calls[place].process == process.number {
            calls[place].isAwaited = false
            if calls[place].answer != nil { calls.remove(at: place) }
        }
        return true
    }

    // MARK: - People

    private mutating func people(_ who: Int, dice: UInt64) -> Bool {
        if dice & 3 != 0 {
            let request = who % promised.count
            guard !promised[request] else { return false }
            submit(request)
            return true
        }
        guard isServing, !ledger.jobs.isEmpty else { return false }
        let job = who % ledger.jobs.count
        let before = ledger
        if dice & 4 == 0 {
            ledger.retry(job, at: t, under: guards)
            tell { _ in "a user retries job \(job)" }
        } else {
            ledger.cancel(job)
            tell { _ in "a user cancels job \(job)" }
        }
        remember(before)
        return true
    }

    mutating func submit(_ request: Int) { _ = call(.submit(request), from: nil) }
}
