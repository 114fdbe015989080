import Conversion
import Ledger
import WorkerRules

/// The stages of the workers: they carry out the actions of `WorkerState`, and report what came of them.
extension World {
    var moment: WorkerState.Moment { Production.moment(now) }

    /// Reports an event to a worker, and hands its actions to its stages.
    mutating func report(_ event: WorkerState.Event, to me: WorkerProcess) {
        for action in me.state.handle(event, at: moment) { take(action, me) }
    }

    private mutating func take(_ action: WorkerState.Action, _ me: WorkerProcess) {
        guard me.goodbye == nil else { return }
        switch action {
        case .register(let abilities): me.registration = .init(abilities: abilities)
        // In the model, no file call lasts.
        case .giveUpFileCalls: break
        // Beats come when the seed says so.
        case .beat: break
        case .ask(let question): me.asking = .init(question: question)
        case .start(let job, _): start(job.fence, me)
        case .cancelConversion(let fence):
            for place in me.conversions.indices where me.conversions[place].fence == fence {
                me.conversions[place].isStopped = true
            }
        case .digest(let fence): me.digests.append(fence)
        case .publisher(let step):
            me.publishing = .init(step: step)
            if case .publish(let fences) = step { me.made.subtract(fences) }
        case .discard(let fences):
            for fence in fences {
                me.made.remove(fence)
                if me.linked.remove(fence) != nil, let order = me.orders[fence] { me.discards.append(order) }
            }
        case .close(let job, let closing):
            tell { _ in "#\(me.number) is done with \(Fence(job.fence).words): \(closing.outcome)" }
            me.made.remove(job.fence)
            me.linked.remove(job.fence)
            me.orders[job.fence] = nil
            me.reasons[job.fence] = nil
        case .report(.leaseLost):
            tell { _ in "#\(me.number) gives up its jobs" }
            if !guards.stand(.unansweredIsKept) { me.publishing?.isGivenUp = true }
        case .report: break
        case .end:
            for place in calls.indices.reversed() where calls[place].process == me.number {
                calls[place].isAwaited = false
                if calls[place].answer != nil { calls.remove(at: place) }
            }
            // The rooms are closed. What has its attempt's name is left to the sweeper.
            (me.conversions, me.digests, me.made, me.publishing) = ([], [], [], nil)
            me.goodbye = .init()
        }
    }

    /// Some conversions take a moment, some outlast a lease.
    private mutating func start(_ job: FenceOfJob, _ me: WorkerProcess) {
        let fence = Fence(job)
        let length = [50, 50, 1_000, 5_000, 15_000, 40_000][fence.lease % 6]
        me.conversions.append(.init(fence: job, until: now + length))
        let request = ledger.jobs.count > fence.job ? ledger.jobs[fence.job].request : 0
        let key =
            guards.stand(.attemptNameIsUnique)
            ? AttemptKey(job: fence.job, epoch: fence.epoch, lease: fence.lease)
            : AttemptKey(job: fence.job, epoch: 0, lease: 0)
        let content = Content(request: request, build: me.build)
        me.orders[job] = Order(fence: fence, request: request, key: key, content: content)
    }

    // MARK: - What a worker does on its own

    private enum Errand {
        case register, ask, publish, sayGoodbye
        case convert(Int)
        case digest(Int)
        case discard(Int)
    }

    /// Does the next piece of a worker's work. `dice` selects one of several. `false`: there is none.
    mutating func work(_ index: Int, dice: UInt64) -> Bool {
        guard let me = processes[index], !me.isPaused else { return false }
        defer { if me.goodbye?.isSaid == true { processes[index] = nil } }
        report(.timePassed, to: me)
        let errands = errands(of: me)
        guard !errands.isEmpty else { return poll(me) }
        switch errands[Int((dice >> 2) % UInt64(errands.count))] {
        case .register: register(me)
        case .ask: ask(me)
        case .publish: publish(me)
        case .convert(let place): convert(place, dice: dice >> 8, me)
        case .digest(let place): report(.digested(me.digests.remove(at: place), nil), to: me)
        case .discard(let place):
            let order = me.discards.remove(at: place)
            tell { _ in "#\(me.number) discards \(order.fence.words)" }
            // What cannot be removed now is left to the sweeper.
            if !me.isCutFromStorage { folder.remove(order.key) }
        case .sayGoodbye: sayGoodbye(me)
        }
        return true
    }

    /// Whether a worker can do something at once.
    func isBusy(_ me: WorkerProcess) -> Bool { !errands(of: me).isEmpty }

    private func errands(of me: WorkerProcess) -> [Errand] {
        if let goodbye = me.goodbye { return goodbye.call == nil ? [.sayGoodbye] : [] }
        var errands: [Errand] = []
        if let registration = me.registration, registration.call == nil { errands.append(.register) }
        if let asking = me.asking, asking.call == nil { errands.append(.ask) }
        for (place, conversion) in me.conversions.enumerated() where conversion.isStopped || conversion.until <= now {
            errands.append(.convert(place))
        }
        errands += me.digests.indices.map { .digest($0) }
        errands += me.discards.indices.map { .discard($0) }
        if let task = me.publishing, task.call == nil || task.isGivenUp, task.until <= now, !isStuck(task, of: me) {
            errands.append(.publish)
        }
        return errands
    }

    /// The ledger may have new work, of which every worker learns sooner or later.
    private mutating func poll(_ me: WorkerProcess) -> Bool {
        guard me.goodbye == nil, me.asking == nil else { return false }
        report(.workSignalled, to: me)
        return me.asking != nil
    }

    private mutating func convert(_ place: Int, dice: UInt64, _ me: WorkerProcess) {
        let conversion = me.conversions.remove(at: place)
        let fence = conversion.fence
        if conversion.isStopped {
            let isLost = me.state.stopReason(of: fence)?.isLoss ?? false
            let report = AttemptFailure(fence, .cancelled)
            return self.report(.ended(fence, isLost ? .failed(report) : .stopped), to: me)
        }
        let reason: Reason
        switch dice % 32 {
        case 0..<4: reason = Reason(failureClass: .transient, code: .conversion, isGenuine: true)
        case 4: reason = Reason(failureClass: .permanent, code: .conversion, isGenuine: true)
        default:
            me.made.insert(fence)
            return report(.ended(fence, .output), to: me)
        }
        me.reasons[fence] = reason
        report(.ended(fence, .failed(AttemptFailure(fence, Production.failure(reason)))), to: me)
    }

    private mutating func register(_ me: WorkerProcess) {
        guard !me.state.isStopping else {
            me.registration = nil
            return
        }
        me.registration?.sentAt = now
        let id = call(.register, from: me.number)
        me.registration?.call = id
    }

    private mutating func sayGoodbye(_ me: WorkerProcess) {
        guard let worker = me.state.worker, let name = me.names[worker] else {
            me.goodbye?.isSaid = true
            return
        }
        let id = call(.stop(name), from: me.number)
        me.goodbye?.call = id
    }

    mutating func beat(_ index: Int) -> Bool {
        guard let me = processes[index], !me.isPaused, me.beating == nil, me.goodbye == nil,
            now - me.beatSentAt >= Times.beat / 2
        else { return false }
        guard let beat = me.state.beat(at: moment), let name = me.names[beat.worker] else { return false }
        let id = call(.beat(name, beat.jobs.map { Fence($0.fence) }), from: me.number)
        (me.beatSentAt, me.beating) = (now, .init(call: id, worker: beat.worker, told: beat.jobs, sentAt: now))
        return true
    }

    mutating func drain(_ index: Int) -> Bool {
        guard let me = processes[index], !me.isPaused, !me.state.isStopping, me.state.session != nil else {
            return false
        }
        tell { _ in "#\(me.number) is to stop" }
        report(.stopAsked(deadline: moment), to: me)
        return true
    }

    // MARK: - Questions to the ledger

    private mutating func ask(_ me: WorkerProcess) {
        guard let asking = me.asking else { return }
        switch asking.question {
        case .claim(let wanted, let worker, _):
            guard let name = me.names[worker] else { return }
            if let claim = asking.claimToBar {
                let id = call(.held(name, barring: claim), from: me.number)
                me.asking?.call = id
            } else {
                let id = call(.claim(name, wanted: wanted), from: me.number)
                me.asking?.call = id
            }
        case .compare(let worker):
            guard let name = me.names[worker] else { return }
            guard guards.stand(.strayJobsAreReleased) else { return answer(.compared([], worker: worker), me) }
            let id = call(.held(name, barring: nil), from: me.number)
            me.asking?.call = id
        case .releaseStrays(let fences):
            guard asking.released < fences.count else { return answer(.straysReleased, me) }
            let id = call(.release(Fence(fences[asking.released])), from: me.number)
            me.asking?.call = id
        case .reportAbilities(let abilities, let worker): answer(.abilitiesReported(abilities, worker: worker), me)
        case .checkRoots: answer(.rootsChecked, me)
        }
    }

    private mutating func answer(_ event: WorkerState.Event, _ me: WorkerProcess) {
        me.asking = nil
        report(event, to: me)
    }

    private mutating func hearQuestion(_ answer: Call.Answer, of call: Call, _ me: WorkerProcess) {
        guard let asking = me.asking else { return }
        me.asking?.call = nil
        switch (asking.question, answer) {
        case (.releaseStrays, .said): me.asking?.released += 1
        case (.releaseStrays, _): break
        case (.claim(_, let worker, let inHand), .fences(let fences)):
            let isSecondTry = asking.claimToBar != nil
            let new = isSecondTry ? fences.filter { !inHand.contains(FenceOfJob($0)) } : fences
            if isSecondTry, new.isEmpty {
                me.asking?.claimToBar = nil
                return
            }
            let claims = new.map {
                Production.claim($0, lost: ledger.jobs.count > $0.job ? ledger.jobs[$0.job].lost : 0)
            }
            self.answer(.claimed(claims, worker: worker, isEmpty: claims.isEmpty), me)
        case (.compare(let worker), .fences(let fences)):
            self.answer(.compared(fences.map { FenceOfJob($0) }, worker: worker), me)
        case (.claim(_, let worker, _), .refused):
            report(.refused(worker: worker), to: me)
            self.answer(.questionFailed(mayHaveHappened: false), me)
        case (.claim, _):
            // The client repeats the call for some time, and first asks what the earlier call took.
            if case .claim = call.operation { me.asking?.claimToBar = call.id }
            me.asking?.tries += 1
            if asking.tries > 2 { self.answer(.questionFailed(mayHaveHappened: true), me) }
        default: self.answer(.questionFailed(mayHaveHappened: true), me)
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
            guard let me = processes[index], me.number == number else { continue }
            hear(answer, of: call, me)
            guard me.goodbye?.isSaid == true else { continue }
            tell { _ in "#\(me.number) ends" }
            processes[index] = nil
        }
    }

    private mutating func hear(_ answer: Call.Answer, of call: Call, _ me: WorkerProcess) {
        if let goodbye = me.goodbye {
            if goodbye.call == call.id { me.goodbye?.isSaid = true }
        } else if me.registration?.call == call.id {
            hearRegistration(answer, me)
        } else if me.asking?.call == call.id {
            hearQuestion(answer, of: call, me)
        } else if let beating = me.beating, beating.call == call.id {
            me.beating = nil
            hearBeat(answer, beating, me)
        } else if me.publishing?.call == call.id {
            hearPublisher(answer, me)
        }
    }

    private mutating func hearRegistration(_ answer: Call.Answer, _ me: WorkerProcess) {
        guard let registration = me.registration else { return }
        me.registration?.call = nil
        guard case .registered(let name) = answer else { return }
        me.registration = nil
        me.names[Int64(name.id)] = name
        me.beatSentAt = registration.sentAt
        let entry = Production.entry(name, sentAt: registration.sentAt)
        report(.registered(entry, abilities: registration.abilities), to: me)
    }

    private mutating func hearBeat(
        _ answer: Call.Answer,
        _ beating: WorkerProcess.Beating,
        _ me: WorkerProcess
    ) {
        var reply = BeatReply(
            isAlive: true,
            leaseLength: .milliseconds(Times.lease),
            sentAt: Production.moment(beating.sentAt)
        )
        switch answer {
        case .beat(let lost, let cancelled):
            if guards.stand(.refusalIsObeyed) { reply.lost = lost.map { Int64($0.job) } }
            reply.cancelled = cancelled.map { Int64($0.job) }
        case .refused: reply.isAlive = false
        default: return report(.beatUnanswered(worker: beating.worker), to: me)
        }
        report(.beatAnswered(reply, worker: beating.worker, reported: beating.told), to: me)
    }
}
