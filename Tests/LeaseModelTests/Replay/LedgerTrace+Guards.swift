extension [LedgerTrace.Entry] {
    /// The steps that a failover later returns to.
    var stepsToReturnTo: Set<Int> {
        Set(
            compactMap { entry in
                if case .loseCommits(let step) = entry.call { step } else { nil }
            }
        )
    }

    /// The entries up to the first one at which the same calls have a different answer, or leave different rows, if a
    /// guard is missing; `nil` if the guard decides nothing.
    func upToWhatIsDecided(by missing: Guard) -> ArraySlice<LedgerTrace.Entry>? {
        let guards = Guards.all.without(missing)
        let kept = stepsToReturnTo
        var ledger = Ledger(isTraced: true)
        var earlier: [Int: Ledger] = [:]
        for (step, entry) in enumerated() {
            if kept.contains(step) { earlier[step] = ledger }
            if case .loseCommits(let step) = entry.call {
                if let before = earlier[step] { ledger = before }
                continue
            }
            ledger.take(entry.call, at: entry.t ?? 0, under: guards)
            guard let other = ledger.trace?.last else { continue }
            if other.answer != entry.answer || other.after != entry.after && other.after.lines != entry.after.lines {
                return self[...step]
            }
        }
        return nil
    }
}

extension Ledger {
    /// Makes a call again.
    fileprivate mutating func take(_ call: LedgerTrace.Call, at t: Milliseconds, under guards: Guards) {
        switch call {
        case .submit(let request): submit(request, under: guards)
        case .cancel(let job): cancel(job)
        case .retry(let job): retry(job, at: t, under: guards)
        case .register(let key): _ = register(key: key, at: t)
        case .claim(let worker, let wanted, let number, let lease):
            _ = claim(worker, wanted: wanted, number: number, lease: lease, at: t, under: guards)
        case .barClaims(let worker, let number): barClaims(of: worker, upTo: number, under: guards)
        case .held(let worker): _ = held(worker, under: guards)
        case .beat(let worker, let fences): _ = beat(worker, fences, at: t, under: guards)
        case .stop(let worker): _ = stop(worker, at: t, under: guards)
        case .publish(let order): _ = publish(order, at: t, under: guards)
        case .finish(let fence): _ = finish(fence, at: t, under: guards)
        case .fail(let fence, let reason): _ = fail(fence, reason, at: t, under: guards)
        case .release(let fence): _ = release(fence, at: t, under: guards)
        case .keepHouse(let server): keepHouse(server: server, at: t, under: guards)
        case .takeUnfinished: _ = takeUnfinished(at: t, under: guards)
        case .stands(let key): _ = stands(key, under: guards)
        case .loseCommits: break
        }
    }
}
