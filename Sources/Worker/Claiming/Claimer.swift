import Conversion
import Ledger
import System
import WorkerRules

/// Asks the ledger for jobs, and the other questions of the worker's state, one at a time.
struct Claimer: Sendable {
    let questions: Channel<WorkerState.Question>
    let calls: LedgerCalls
    let dispatcher: Dispatcher
    let storage: StorageHealth
    let beater: Beater
    /// The queues to take jobs from; all if empty.
    let queues: [String]
    let notifications: LedgerNotifications

    func run() async {
        var patience = BackOff(first: .milliseconds(100), longest: .seconds(5))
        while let question = await questions.take(upTo: 1)?.first {
            do {
                dispatcher.report(try await answer(question))
                patience = BackOff(first: .milliseconds(100), longest: .seconds(5))
            } catch let error as LedgerError {
                if error.code == .ledgerLeaseOver, let worker = question.worker {
                    dispatcher.report(.refused(worker: worker))
                } else if !Task.isCancelled {
                    if error.isTransient { calls.noteLedger(error) } else { calls.onEvent(.trouble(error.failure)) }
                    _ = await patience.wait()
                }
                dispatcher.report(.questionFailed(mayHaveHappened: error.mayHaveHappened))
            } catch {
                calls.onEvent(.trouble(Failure(error)))
                _ = await patience.wait()
                dispatcher.report(.questionFailed(mayHaveHappened: true))
            }
        }
    }

    private func answer(_ question: WorkerState.Question) async throws -> WorkerState.Event {
        let ledger = calls.ledger
        switch question {
        case .claim(let wanted, let worker, let inHand):
            let seen = notifications.pace.count
            let claims = try await ledger.claim(
                Int32(clamping: wanted),
                for: worker,
                from: queues.isEmpty ? nil : queues,
                inHand: inHand,
                within: .seconds(20)
            )
            calls.noteLedger(nil)
            if claims.isLedgerIdle { notifications.pace.slowDown(since: seen) } else { notifications.pace.goOn() }
            return .claimed(claims.jobs, worker: worker, isEmpty: claims.jobs.isEmpty && claims.refused.isEmpty)
        case .compare(let worker): return .compared(try await ledger.held(by: worker).jobs.map(\.fence), worker: worker)
        case .releaseStrays(let fences):
            _ = try await ledger.release(fences)
            return .straysReleased
        case .reportAbilities(let abilities, let worker):
            try await ledger.setAbilities(abilities, of: worker)
            return .abilitiesReported(abilities, worker: worker)
        case .checkRoots:
            await storage.checkRoots()
            return .rootsChecked
        }
    }

    /// Listens for signals of new work. The worker also polls now and then.
    func listen() async {
        for await signal in calls.ledger.workSignals(notifications.pace) {
            // A signal of the clock may stand for notifications that came before it listened, and be merged with one of a
            // webhook.
            notifications.signal.send()
            dispatcher.report(.workSignalled)
            // Not for new jobs: a fleet whose workers all beat at every submission would overload the ledger.
            if signal == .cancellation { beater.beatSoon() }
        }
    }
}

extension WorkerState.Question {
    /// The worker for which the ledger is asked.
    fileprivate var worker: Int64? {
        switch self {
        case .claim(_, let worker, _), .compare(let worker), .reportAbilities(_, let worker): worker
        case .releaseStrays, .checkRoots: nil
        }
    }
}
