import Conversion
import Ledger
import Synchronization
import System

/// Goes on with the bulk changes that the ledger keeps, on behalf of whoever asked for them.
///
/// Each coordinator has one. The ledger gives each bulk change to one of them at a time, and to another if that one makes
/// no page for ten seconds.
final class BulkChangeRunner: Sendable {
    private let ledger: JobLedger
    private let signal = WakeSignal()
    private let work = Mutex<Task<Void, Never>?>(nil)
    private let complain: @Sendable (Failure) -> Void
    private static let interval = Duration.seconds(3)

    init(_ ledger: JobLedger, complain: @escaping @Sendable (Failure) -> Void) {
        (self.ledger, self.complain) = (ledger, complain)
    }

    func start() {
        let task = Task {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    let seen = signal.count
                    for change in await taken() { group.addTask { await self.carryOut(change) } }
                    await signal.wait(since: seen, until: .now + Self.interval)
                }
            }
        }
        work.withLock { $0 = task }
    }

    /// Looks for bulk changes now.
    func hurry() { signal.send() }

    func stop() async {
        let task = work.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    private func taken() async -> [UnfinishedChange] {
        do {
            return try await ledger.takeUnfinishedChanges()
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            // The next round asks again. Others report that the ledger is away.
            return []
        } catch {
            complain(Self.failure(error))
            return []
        }
    }

    private func carryOut(_ change: UnfinishedChange) async {
        let ledger = ledger.acting(for: change.principal)
        do {
            while !Task.isCancelled, let now = try await ledger.step(ofChange: change.number), now.isUnderWay {}
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            // Any coordinator goes on with it once the ledger is back.
            return
        } catch {
            do {
                try await ledger.fail(change: change.number, because: Self.failure(error).message)
            } catch {
                complain(Self.failure(error))
            }
        }
    }

    private static func failure(_ error: any Error) -> Failure {
        (error as? LedgerError)?.failure ?? Failure(.unexpected, at: .ledger, "\(error)")
    }
}
