/// Processes that lose the connection to the ledger or to the storage while others keep both.
extension World {
    func ledgerCut(of call: Call) -> WorkerProcess.Cut? {
        for process in processes { if let process, process.number == call.process { return process.ledgerCut } }
        return nil
    }

    /// From here on a process receives nothing from the ledger. With `both`, the ledger also receives nothing from it.
    mutating func cutLedger(_ index: Int, dice: UInt64) -> Bool {
        guard let process = processes[index], process.ledgerCut == nil else { return false }
        let cut: WorkerProcess.Cut = dice % 2 == 0 ? .both : .answers
        tell { _ in "#\(process.number) is cut off from the ledger (\(cut))" }
        processes[index]?.ledgerCut = cut
        while let place = calls.firstIndex(where: { $0.isAwaited && $0.process == process.number }) {
            let call = calls[place]
            calls[place].isAwaited = false
            if call.answer != nil { calls.remove(at: place) }
            deliver(.unknown, of: call)
        }
        return true
    }

    mutating func cutStorage(_ index: Int) -> Bool {
        guard let process = processes[index], !process.isCutFromStorage else { return false }
        tell { _ in "#\(process.number) is cut off from the storage" }
        processes[index]?.isCutFromStorage = true
        return true
    }

    mutating func mend(_ index: Int) -> Bool {
        guard let process = processes[index], process.ledgerCut != nil || process.isCutFromStorage else { return false }
        tell { _ in "#\(process.number) sees ledger and storage again" }
        processes[index]?.ledgerCut = nil
        processes[index]?.isCutFromStorage = false
        return true
    }

    /// Queues a rename that hangs on its way to the storage. `false`: it hangs there already.
    mutating func askLateName(_ order: Order) -> Bool {
        if lateNames.contains(order) { return false }
        lateNames.append(order)
        return true
    }

    /// Records that the ledger has renewed a worker's lease.
    mutating func hearOf(_ call: Call, _ answer: Call.Answer, hasRevived: Bool) {
        switch (call.operation, answer) {
        case (_, .registered(let worker)), (.beat(let worker, _), .beat): heard[worker.key] = (reachable, outages)
        case (.claim(let worker, _), .fences) where hasRevived: heard[worker.key] = (reachable, outages)
        default: break
        }
    }

    /// Checks that a worker is declared lost only after the ledger was reachable for longer than the interval
    /// between beats.
    ///
    /// Three outages within one lease are excepted. Each is too short to count as an outage, and they may leave no
    /// time between them.
    mutating func checkReaping(since before: Ledger) {
        for worker in before.workers.indices where ledger.workers[worker].hasEnded && !before.workers[worker].hasEnded {
            guard let heard = heard[ledger.workers[worker].key], outages - heard.outages < 3 else { continue }
            if reachable - heard.reachable < Times.beat { broke(.reapedTooSoon) }
        }
    }
}
