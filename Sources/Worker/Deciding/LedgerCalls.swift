import Conversion
import Ledger
import Synchronization
import System

/// The worker's calls to the ledger, and what users learn of them.
final class LedgerCalls: Sendable {
    let ledger: JobLedger
    let onEvent: @Sendable (WorkerEvent) -> Void
    private let isLedgerAway = Mutex(false)

    init(_ ledger: JobLedger, onEvent: @escaping @Sendable (WorkerEvent) -> Void) {
        self.ledger = ledger
        self.onEvent = onEvent
    }

    /// Repeats a question to the ledger until it answers, or until `isWorthIt` is false. `nil` if there was no
    /// answer, or on a permanent error, which has been reported.
    func ask<Answer: Sendable>(
        while isWorthIt: () -> Bool = { true },
        _ question: () async throws -> Answer
    ) async -> Answer? {
        var patience = BackOff(first: .milliseconds(100), longest: .seconds(5))
        while isWorthIt(), !Task.isCancelled {
            do {
                let answer = try await question()
                noteLedger(nil)
                return answer
            } catch let error as LedgerError where error.isTransient {
                noteLedger(error)
                guard await patience.wait() else { return nil }
            } catch {
                if !Task.isCancelled { onEvent(.trouble(Failure(error))) }
                return nil
            }
        }
        return nil
    }

    /// Reports once that the ledger is away, and once that it is back.
    func noteLedger(_ error: LedgerError?) {
        let isNew = isLedgerAway.withLock { isAway in
            defer { isAway = error != nil }
            return isAway != (error != nil)
        }
        guard isNew else { return }
        onEvent(error.map { .ledgerAway($0.failure) } ?? .ledgerBack)
    }
}
