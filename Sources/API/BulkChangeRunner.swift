import Conversion
import Ledger
import Synchronization
import System

/// Carries out the bulk changes that the ledger keeps, acting for the callers that began them.
///
/// Each coordinator has one. The ledger gives each bulk change to one coordinator at a time, and to another if that one
/// makes no page for ten seconds.
final class BulkChangeRunner: Sendable {
    private let ledger: JobLedger
    private let signal = WakeSignal()
    private let work = Mutex<Task<Void, Never>?>(nil)
    /// The numbers of the bulk changes that this coordinator carries out.
    private let underWay = Mutex<Set<Int64>>([])
    private let complain: @Sendable (Failure) -> Void
    /// Whether no other coordinator begins or leaves changes.
    private let isAlone: Bool
    /// Until when it looks often even so: a predecessor, or an error, may have left changes.
    private let looksOftenUntil = Mutex(ContinuousClock.now)
    private static let most = 4
    private static let interval: Duration = .seconds(3)
    private static let intervalAlone: Duration = .seconds(60)
    /// The ledger offers a change again ten seconds after its last page.
    private static let timeOfOffers: Duration = .seconds(15)

    /// It has connections of its own, so that requests do not wait for pages. `isAlone`: the ledger has no other
    /// coordinator, and rests while no requests come.
    init(
        _ configuration: LedgerConfiguration,
        isAlone: Bool = false,
        complain: @escaping @Sendable (Failure) -> Void
    ) throws {
        self.isAlone = isAlone
        var configuration = configuration
        configuration.connectionLimit = 2
        ledger = try JobLedger(configuration)
        self.complain = complain
    }

    func start() {
        lookOften()
        let task = Task {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    let seen = signal.count
                    for change in await taken() { group.addTask { await self.carryOut(change) } }
                    await signal.wait(since: seen, until: .now + nextLook)
                }
            }
        }
        work.withLock { $0 = task }
    }

    /// The time until the next look, if nothing calls for one.
    private var nextLook: Duration {
        let rests = isAlone && looksOftenUntil.withLock { $0 < .now }
        return rests ? Self.intervalAlone : Self.interval
    }

    private func lookOften() { looksOftenUntil.withLock { $0 = .now + Self.timeOfOffers } }

    /// Looks for bulk changes now.
    func hurry() { signal.send() }

    func stop() async {
        let task = work.withLock { $0 }
        task?.cancel()
        await task?.value
        await ledger.close()
    }

    /// Bulk changes to begin with. One that waits for its next page so long that the ledger offers it again is left out.
    private func taken() async -> [UnfinishedChange] {
        let places = Self.most - underWay.withLock { $0.count }
        guard places > 0 else { return [] }
        do {
            let offered = try await ledger.takeUnfinishedChanges(Int32(places))
            return underWay.withLock { underWay in offered.filter { underWay.insert($0.number).inserted } }
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            // The next round asks again. Others report that the ledger is away.
            lookOften()
            return []
        } catch {
            complain(Self.failure(error))
            return []
        }
    }

    private func carryOut(_ change: UnfinishedChange) async {
        defer {
            underWay.withLock { _ = $0.remove(change.number) }
            // Others may wait for the place.
            hurry()
        }
        let ledger = ledger.acting(for: change.principal)
        do {
            while !Task.isCancelled, let now = try await ledger.step(ofChange: change.number), now.isUnderWay {}
        } catch let error as LedgerError where error.isTransient || error.code == .cancelled {
            // Any coordinator goes on with it once the ledger is back.
            lookOften()
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
