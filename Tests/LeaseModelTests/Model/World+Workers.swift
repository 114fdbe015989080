extension World {
    // MARK: - What a worker does on its own

    /// Does the worker's next piece of work. `dice` selects one of several. `false`: there is none.
    mutating func work(_ index: Int, dice: UInt64) -> Bool {
        guard var me = processes[index], !me.isPaused else { return false }
        defer { processes[index] = me }
        if isOver(me) {
            tell { _ in "#\(me.number) gives up its jobs" }
            giveUp(&me)
            return true
        }
        guard let name = me.name else {
            if !me.slots.isEmpty { return workSlot(Int(dice % UInt64(me.slots.count)), of: &me, dice: dice >> 8) }
            guard me.mainCall == nil else { return false }
            me.beatSentAt = now
            me.mainCall = call(.register, from: me.number)
            return true
        }
        let isFree = me.slots.count < 2 && !me.isDraining && me.mainCall == nil
        if me.mainCall == nil && me.mustAskHeld {
            me.mustAskHeld = false
            me.mainCall = call(.held(name, barring: me.claimToBar), from: me.number)
            return true
        }
        if isFree && (me.slots.isEmpty || dice & 3 == 0) {
            me.mainCall = call(.claim(name, wanted: 2 - me.slots.count), from: me.number)
            return true
        }
        if me.isDraining && me.slots.isEmpty && me.mainCall == nil {
            me.mainCall = call(.stop(name), from: me.number)
            return true
        }
        guard !me.slots.isEmpty else { return false }
        return workSlot(Int((dice >> 2) % UInt64(me.slots.count)), of: &me, dice: dice >> 8)
    }

    private func isOver(_ me: WorkerProcess) -> Bool {
        me.name != nil && now >= me.deadline
    }

    /// Gives up after the lease. Keeps publications that the ledger decides about or has accepted.
    private mutating func giveUp(_ me: inout WorkerProcess) {
        for place in me.slots.indices.reversed() where me.slots[place].isOwned {
            if case .publishing = me.slots[place].phase, guards.stand(.unansweredIsKept) {
                me.slots[place].isAbandoned = true
            } else {
                drop(place, of: &me)
            }
        }
        for index in calls.indices.reversed() where calls[index].id == me.mainCall || calls[index].id == me.beatCall {
            calls[index].isAwaited = false
            if calls[index].answer != nil { calls.remove(at: index) }
        }
        (me.name, me.mainCall, me.beatCall, me.mustAskHeld, me.claimToBar) = (nil, nil, nil, false, nil)
        me.known.removeAll()
    }

    /// Discards the output of a slot.
    private mutating func drop(_ place: Int, of me: inout WorkerProcess) {
        let slot = me.slots.remove(at: place)
        tell { _ in "#\(me.number) drops \(slot.fence.words)" }
        switch slot.phase {
        case .linked, .publishing, .releasing: if !me.isCutFromStorage { folder.remove(slot.order.key) }
        default: break
        }
    }

    private mutating func workSlot(_ place: Int, of me: inout WorkerProcess, dice: UInt64) -> Bool {
        guard me.slots[place].pending == nil else { return false }
        let slot = me.slots[place]
        if me.isCutFromStorage {
            switch slot.phase {
            case .written, .named: return false
            case .published where guards.stand(.namedBeforeFinished): return askLateName(slot.order)
            default: break
            }
        }
        let operation: Call.Operation
        switch slot.phase {
        case .converting(let until):
            guard now >= until else { return false }
            switch dice % 32 {
            case 0..<4:
                let reason = Reason(failureClass: .transient, code: .conversion, isGenuine: true)
                me.slots[place].phase = .failing(reason)
            case 4:
                let reason = Reason(failureClass: .permanent, code: .conversion, isGenuine: true)
                me.slots[place].phase = .failing(reason)
            default:
                me.slots[place].phase = .written
            }
            return true
        case .written:
            tell { _ in "#\(me.number) links the output of \(slot.fence.words)" }
            guard folder.link(slot.order, isSynced: guards.stand(.fileIsSynced), at: now) else {
                let reason = Reason(failureClass: .transient, code: .attemptLost, isGenuine: false)
                me.slots[place].phase = .failing(reason)
                return true
            }
            if guards.stand(.attemptNameIsFlushed) { folder.flush() }
            me.slots[place].phase = .linked(until: now + (slot.fence.lease % 7 == 0 ? 65_000 : 0))
            return true
        case .linked(let until):
            guard now >= until else { return false }
            if !guards.stand(.publishedBeforeNamed) { _ = name(slot.order, by: "#\(me.number)") }
            me.slots[place].phase = .publishing
            operation = .publish(slot.order)
        case .publishing:
            operation = .publish(slot.order)
        case .published:
            if !guards.stand(.namedBeforeFinished) {
                me.slots[place].phase = .flushed
                return true
            }
            switch name(slot.order, by: "#\(me.number)") {
            case .named: me.slots[place].phase = .named
            case .failed(let reason): me.slots[place].phase = .failing(reason)
            case .left: me.slots.remove(at: place)
            }
            return true
        case .named:
            if guards.stand(.nameIsFlushed) { folder.flush() }
            me.slots[place].phase = .flushed
            return true
        case .flushed: operation = .finish(slot.fence)
        case .failing(let reason): operation = .fail(slot.fence, reason)
        case .releasing: operation = .release(slot.fence)
        }
        me.slots[place].pending = call(operation, from: me.number)
        return true
    }

    mutating func beat(_ index: Int) -> Bool {
        guard var me = processes[index], !me.isPaused, me.beatCall == nil, let name = me.name, !isOver(me),
            now - me.beatSentAt >= Times.beat / 2
        else { return false }
        me.beatSentAt = now
        me.beatCall = call(.beat(name, me.slots.filter(\.isOwned).map(\.fence)), from: me.number)
        processes[index] = me
        return true
    }

    mutating func drain(_ index: Int) -> Bool {
        guard var me = processes[index], !me.isPaused, !me.isDraining, me.name != nil else { return false }
        tell { _ in "#\(me.number) is to stop" }
        me.isDraining = true
        for place in me.slots.indices { release(place, of: &me) }
        processes[index] = me
        return true
    }

    /// Hands a job back, unless it is publishing or beyond.
    private func release(_ place: Int, of me: inout WorkerProcess) {
        switch me.slots[place].phase {
        case .converting, .written, .linked: me.slots[place].phase = .releasing
        case .publishing where !guards.stand(.unansweredIsKept):
            me.slots[place].phase = .releasing
            me.slots[place].pending = nil
        default: break
        }
    }

    // MARK: - What a worker learns

    /// Gives `answer` to the caller of `call`. Ignores callers that are gone.
    mutating func deliver(_ answer: Call.Answer, of call: Call) {
        guard let number = call.process else {
            if case .submit(let request) = call.operation, case .none = answer { promised[request] = true }
            return
        }
        for index in processes.indices {
            guard var me = processes[index], me.number == number else { continue }
            hear(answer, of: call, &me)
            if case .stop = call.operation, me.name == nil {
                tell { _ in "#\(me.number) ends" }
                processes[index] = nil
            } else {
                processes[index] = me
            }
        }
    }

    private mutating func hear(_ answer: Call.Answer, of call: Call, _ me: inout WorkerProcess) {
        if me.mainCall == call.id { me.mainCall = nil }
        if me.beatCall == call.id { me.beatCall = nil }
        if isOver(me) {
            tell { _ in "#\(me.number) gives up its jobs" }
            giveUp(&me)
        }
        switch (call.operation, answer) {
        case (.register, .registered(let name)):
            me.name = name
            me.deadline = me.beatSentAt + scenario.patience
        case (.claim(let name, _), .unknown) where me.name == name:
            (me.mustAskHeld, me.claimToBar) = (true, call.id)
        case (.held(let name, _), .unknown) where me.name == name:
            me.mustAskHeld = true
        case (.claim(let name, _), .fences(let fences)) where me.name == name:
            for fence in fences { adopt(fence, &me) }
        case (.held(let name, let claim), .fences(let fences)) where me.name == name:
            if me.claimToBar == claim { me.claimToBar = nil }
            for fence in fences where !me.holds(fence) {
                if !me.knows(fence) {
                    adopt(fence, &me)
                } else if guards.stand(.strayJobsAreReleased) {
                    take(fence, .releasing, &me)
                }
            }
        case (.claim(let name, _), .refused) where me.name == name,
            (.beat(let name, _), .refused) where me.name == name:
            giveUp(&me)
        case (.beat(let name, _), .beat(let lost, let cancelled)) where me.name == name:
            me.deadline = me.beatSentAt + scenario.patience
            if guards.stand(.strayJobsAreReleased) { me.mustAskHeld = true }
            for place in me.slots.indices.reversed() where me.slots[place].isOwned {
                if case .publishing = me.slots[place].phase { continue }
                if lost.contains(me.slots[place].fence) && guards.stand(.refusalIsObeyed) {
                    drop(place, of: &me)
                } else if cancelled.contains(me.slots[place].fence) {
                    release(place, of: &me)
                }
            }
        case (.stop, _):
            me.name = nil
        default:
            hearSlot(answer, of: call, &me)
        }
    }

    /// Takes a claimed job. Hands it back at once if no slot is free.
    private func adopt(_ fence: Fence, _ me: inout WorkerProcess) {
        me.known.append(fence)
        let isWelcome = me.slots.count < 2 && !me.isDraining
        // Some conversions take a moment, some outlast a lease.
        let length = [50, 50, 1_000, 5_000, 15_000, 40_000][fence.lease % 6]
        take(fence, isWelcome ? .converting(until: now + length) : .releasing, &me)
    }

    private func take(_ fence: Fence, _ phase: WorkerProcess.Phase, _ me: inout WorkerProcess) {
        let request = ledger.jobs.count > fence.job ? ledger.jobs[fence.job].request : 0
        let key =
            guards.stand(.attemptNameIsUnique)
            ? AttemptKey(job: fence.job, epoch: fence.epoch, lease: fence.lease)
            : AttemptKey(job: fence.job, epoch: 0, lease: 0)
        let order = Order(
            fence: fence,
            request: request,
            key: key,
            content: Content(request: request, build: me.build)
        )
        me.slots.append(WorkerProcess.Slot(fence: fence, phase: phase, order: order, pending: nil))
    }

    private mutating func hearSlot(_ answer: Call.Answer, of call: Call, _ me: inout WorkerProcess) {
        for place in me.slots.indices.reversed() where me.slots[place].pending == call.id {
            me.slots[place].pending = nil
            guard case .said(let said) = answer else { return }
            switch me.slots[place].phase {
            case .publishing:
                if said == .done || said == .repeated || !guards.stand(.refusalIsObeyed) {
                    me.slots[place].phase = .published
                    me.slots[place].isAbandoned = false
                } else {
                    drop(place, of: &me)
                }
            case .releasing where said == .publishing && guards.stand(.refusalIsObeyed):
                me.slots[place].phase = .published
                me.slots[place].isAbandoned = false
            case .releasing: drop(place, of: &me)
            default: me.slots.remove(at: place)
            }
        }
    }
}
