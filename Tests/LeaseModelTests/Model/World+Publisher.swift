import Conversion
import Ledger
import WorkerRules

/// The stage that links, publishes and reports, one job after the other, so that it may be interrupted between any two.
extension World {
    /// Whether the step waits for the storage, which does not answer this process.
    func isStuck(_ task: WorkerProcess.PublisherTask, of me: WorkerProcess) -> Bool {
        guard me.isCutFromStorage else { return false }
        switch (task.step, task.completing) {
        case (.link, _), (.complete, .named): return true
        case (.complete(let fences), .naming) where guards.stand(.namedBeforeFinished):
            guard task.place < fences.count, let order = me.orders[fences[task.place]] else { return false }
            // A rename that hangs there is not asked for again.
            return lateNames.contains(order)
        default: return false
        }
    }

    /// One piece of the publisher's step.
    mutating func publish(_ me: WorkerProcess) {
        guard let task = me.publishing else { return }
        switch task.step {
        case .link(let fences): link(fences, task, me)
        case .publish(let fences): ask(fences, task, me)
        case .complete(let fences): complete(fences, task, me)
        case .reportFailures(let reports):
            repeatWhileWorth(reports.map(\.fence), task, me) { fence, me in
                // A user cancelled the job; that is all.
                let cancelled = Reason(failureClass: .infrastructure, code: .workerLost, isGenuine: false)
                return .fail(Fence(fence), me.reasons[fence] ?? cancelled)
            } done: {
                .failuresReported(reports, $0)
            }
        case .handBack(let fences, let reason):
            repeatWhileWorth(fences, task, me) { fence, _ in
                .release(Fence(fence))
            } done: {
                .handedBack(fences, reason, $0)
            }
        }
    }

    private mutating func end(_ event: WorkerState.Event, _ me: WorkerProcess) {
        me.publishing = nil
        report(event, to: me)
    }

    private mutating func link(
        _ fences: [FenceOfJob],
        _ task: WorkerProcess.PublisherTask,
        _ me: WorkerProcess
    ) {
        guard task.place < fences.count else { return end(.linked(task.linked, not: task.others), me) }
        let fence = fences[task.place]
        me.publishing?.place += 1
        guard let order = me.orders[fence] else { return }
        tell { _ in "#\(me.number) links the output of \(order.fence.words)" }
        guard folder.link(order, isSynced: guards.stand(.fileIsSynced), at: now) else {
            let reason = Reason(failureClass: .transient, code: .attemptLost, isGenuine: false)
            me.reasons[fence] = reason
            me.made.remove(fence)
            me.publishing?.others[fence] = .failed(AttemptFailure(fence, Production.failure(reason)))
            return
        }
        if guards.stand(.attemptNameIsFlushed) { folder.flush() }
        me.linked.insert(fence)
        me.publishing?.linked.append(fence)
        // Sometimes the disk is so slow that the file is old enough to be swept.
        if order.fence.lease % 7 == 0 { me.publishing?.until = now + 65_000 }
    }

    private mutating func ask(
        _ fences: [FenceOfJob],
        _ task: WorkerProcess.PublisherTask,
        _ me: WorkerProcess
    ) {
        if task.isGivenUp {
            for fence in fences[task.place...] { me.publishing?.answers[fence] = .lost }
            return end(.published(me.publishing?.answers ?? [:]), me)
        }
        guard task.place < fences.count else { return end(.published(task.answers), me) }
        guard let order = me.orders[fences[task.place]] else { return }
        if !guards.stand(.publishedBeforeNamed) { _ = name(order, by: "#\(me.number)") }
        let id = call(.publish(order), from: me.number)
        me.publishing?.call = id
    }

    private mutating func complete(
        _ fences: [FenceOfJob],
        _ task: WorkerProcess.PublisherTask,
        _ me: WorkerProcess
    ) {
        guard task.place < fences.count else { return end(.completed(task.results), me) }
        let fence = fences[task.place]
        guard let order = me.orders[fence] else { return }
        switch task.completing {
        case .naming where !guards.stand(.namedBeforeFinished): me.publishing?.completing = .flushed
        case .naming where me.isCutFromStorage: _ = askLateName(order)
        case .naming:
            switch name(order, by: "#\(me.number)") {
            case .named: me.publishing?.completing = .named
            case .failed(let reason): me.publishing?.completing = .failing(reason)
            case .left: completed(fence, WorkerState.Completion(.publishing), me)
            }
        case .named:
            if guards.stand(.nameIsFlushed) { folder.flush() }
            me.publishing?.completing = .flushed
        case .flushed:
            let id = call(.finish(order.fence), from: me.number)
            me.publishing?.call = id
        case .failing(let reason):
            let id = call(.fail(order.fence, reason), from: me.number)
            me.publishing?.call = id
        }
    }

    private mutating func completed(_ fence: FenceOfJob, _ result: WorkerState.Completion, _ me: WorkerProcess) {
        me.publishing?.results[fence] = result
        me.publishing?.place += 1
        me.publishing?.completing = .naming
    }

    /// Calls the ledger for each job until it answers, or until a report makes no sense any more.
    private mutating func repeatWhileWorth(
        _ fences: [FenceOfJob],
        _ task: WorkerProcess.PublisherTask,
        _ me: WorkerProcess,
        _ operation: (FenceOfJob, WorkerProcess) -> Call.Operation,
        done: ([JobAnswer?]) -> WorkerState.Event
    ) {
        guard task.place < fences.count, me.state.isWorthReporting(fences, at: moment) else {
            return end(done(fences.map { task.answers[$0] ?? nil }), me)
        }
        let id = call(operation(fences[task.place], me), from: me.number)
        me.publishing?.call = id
    }

    /// The ledger's answer to a call of the publisher. Without one, the call is repeated.
    mutating func hearPublisher(_ answer: Call.Answer, _ me: WorkerProcess) {
        me.publishing?.call = nil
        guard let task = me.publishing else { return }
        guard case .said(let said) = answer else {
            // The whole order is carried out again.
            if case .complete = task.step, case .flushed = task.completing { me.publishing?.completing = .naming }
            return
        }
        switch task.step {
        case .link: break
        case .publish(let fences):
            let answer = guards.stand(.refusalIsObeyed) ? JobAnswer(said) : .done
            me.publishing?.answers[fences[task.place]] = answer
            me.publishing?.place += 1
        case .complete(let fences):
            if case .failing(let reason) = task.completing {
                completed(fences[task.place], .init(.failed, failure: Production.failure(reason)), me)
            } else {
                completed(fences[task.place], .init(.completed), me)
            }
        case .reportFailures(let reports):
            me.publishing?.answers[reports[task.place].fence] = JobAnswer(said)
            me.publishing?.place += 1
        case .handBack(let fences, _):
            me.publishing?.answers[fences[task.place]] = JobAnswer(said)
            me.publishing?.place += 1
        }
    }
}
