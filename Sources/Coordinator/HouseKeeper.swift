import Conversion
public import Ledger
import Publishing
public import Storage

/// A coordinator: does the ledger's housekeeping and finishes half-done publications. Any number may run.
public final class HouseKeeper: Sendable {
    private let ledger: JobLedger
    private let configuration: LedgerConfiguration
    private let roots: @Sendable () -> StorageRoots
    private let files = FileCalls()
    private let finisher: PublicationFinisher
    private let webhooks: WebhookSender?
    private let onEvent: @Sendable (CoordinatorEvent) -> Void
    private let pulse: @Sendable () -> Void

    private let migrator: Migrator
    private let checkInterval: Duration
    /// How often to look for unfinished publications.
    private static let finishInterval: Duration = .seconds(15)
    /// How long a call to a file may take before its root counts as silent.
    private static let silenceLimit: Duration = .seconds(10)

    /// Opens no connection yet. Without roots, it can only finish publications that have no file. `roots` is asked in
    /// each round, because some may be opened late. `onEvent` must not block. `pulse` is called in each round of the housekeeping, whether or not the ledger answers. `checkInterval`:
    /// how often to look whether a migration has made this binary too old. `webhooks` runs as long as this does.
    public init(
        _ configuration: LedgerConfiguration,
        roots: @escaping @Sendable () -> StorageRoots,
        webhooks: WebhookSender? = nil,
        onEvent: @escaping @Sendable (CoordinatorEvent) -> Void = { _ in },
        pulse: @escaping @Sendable () -> Void = {},
        checkInterval: Duration = .seconds(60)
    ) throws {
        var configuration = configuration
        configuration.connectionLimit = min(configuration.connectionLimit, 2)
        self.configuration = configuration
        self.roots = roots
        self.onEvent = onEvent
        self.pulse = pulse
        ledger = try JobLedger(configuration)
        migrator = try Migrator(configuration)
        self.checkInterval = checkInterval
        self.webhooks = webhooks
        finisher = PublicationFinisher(ledger, files: files)
    }

    /// Runs until it is cancelled, or until a migration after which this binary cannot work with the ledger. Throws
    /// then, or if it cannot start; it waits through outages of the ledger.
    public func run() async throws {
        try await migrator.check()
        _ = try await ledger.time()
        onEvent(.started)
        var end: (any Error)?
        do {
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await self.keepHouse() }
                group.addTask {
                    // A call to a silent root would not return before the root answers.
                    await withTaskCancellationHandler {
                        await self.finish()
                    } onCancel: {
                        self.files.stop()
                    }
                }
                group.addTask { await self.watchRoots() }
                group.addTask { await self.webhooks?.run() }
            }
        } catch {
            end = error
        }
        await ledger.close()
        onEvent(.stopped)
        if let end { throw end }
    }

    /// Throws `schemaTooNew`.
    private func keepHouse() async throws {
        var isAway = false
        var wait: Duration = .zero
        var checkedAt = ContinuousClock.now
        while await rest(wait) {
            pulse()
            let started = ContinuousClock.now
            do {
                if started - checkedAt > checkInterval {
                    try await migrator.check()
                    checkedAt = started
                }
                let report = try await ledger.keepHouse(for: .seconds(1), within: .seconds(5))
                if isAway { onEvent(.ledgerBack) }
                isAway = false
                for chore in report.chores { say(chore) }
                // Jitter: coordinators that started together must not stay in step.
                wait = .seconds(Double.random(in: 0.9...1.3))
                // Unfinished work goes on as soon as the next tick is allowed.
                if report.isUnfinished { wait -= ContinuousClock.now - started }
            } catch let error as LedgerError where error.code == .ledgerSchemaTooNew {
                throw error
            } catch {
                guard !Task.isCancelled else { return }
                let failure = Failure(error)
                if failure.kind != .infrastructure {
                    onEvent(.trouble(failure))
                } else if !isAway {
                    onEvent(.ledgerAway(failure))
                }
                isAway = failure.kind == .infrastructure
                wait = .seconds(Double.random(in: 0.5...3))
            }
        }
    }

    private func say(_ chore: HousekeepingReport.Chore) {
        if let error = chore.error {
            let message = "the chore \(chore.name) failed: \(error)"
            onEvent(.trouble(Failure(.choreFailed, at: .ledger, message)))
        } else if chore.name == "reap", chore.affected > 0 {
            onEvent(.reaped(chore.affected))
        }
    }

    private func finish() async {
        var wait = Self.finishInterval * Double.random(in: 0...0.2)
        while await rest(wait) {
            do {
                let taken = try await finisher.takeUnfinished(in: roots().without(files.silentRoots))
                let finished = taken.count { if case .finished = $0.ending { true } else { false } }
                if finished > 0 { onEvent(.finishedForOthers(finished)) }
                for case .postponed(let failure) in taken.map(\.ending) { onEvent(.trouble(failure)) }
            } catch {
                // The other loop reports that the ledger is unreachable.
                let failure = Failure(error)
                if failure.kind != .infrastructure { onEvent(.trouble(failure)) }
            }
            wait = Self.finishInterval * Double.random(in: 0.8...1.2)
        }
    }

    /// Leaves roots whose file systems do not answer to other processes until they do.
    private func watchRoots() async {
        while await rest(.seconds(2)) {
            for root in files.silenceRoots(ofCallsLongerThan: Self.silenceLimit).sorted() {
                let path = roots()[root]?.path ?? root
                onEvent(.trouble(StorageError.silence(of: root, at: path, for: Self.silenceLimit).failure))
            }
            files.resumeReturned()
        }
    }

    /// Waits. Returns false if the task was cancelled.
    private func rest(_ duration: Duration) async -> Bool {
        do {
            try await Task.sleep(for: max(duration, Duration.zero), clock: .continuous)
            return true
        } catch {
            return false
        }
    }
}

extension Failure {
    /// Turns any error into a `Failure`.
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as LedgerError: self = error.failure
        case let error as StorageError: self = error.failure
        default: self.init(.unexpected, at: .ledger, "\(error)")
        }
    }
}
