import Conversion
public import Ledger
import Publishing
public import Storage
import Synchronization
import System

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
    private let longestRest: Duration
    /// Given when the ledger notifies, and at intervals: nothing rests any longer.
    private let notifications = WakeSignal()
    /// How it listens for that.
    private let pace = SignalPace()
    /// Given when a search for unfinished publications begins.
    private let searches = WakeSignal()
    private let isSearching = Atomic(false)
    /// How long to wait at the start for a server that is starting. After a crash it may have much to recover.
    private static let startLimit: Duration = .seconds(300)
    /// How often to look for unfinished publications.
    private static let finishInterval: Duration = .seconds(15)
    /// How long a call to a file may take before its root counts as silent.
    private static let silenceLimit: Duration = .seconds(10)

    /// Opens no connection yet. Without roots, it can only finish publications that have no file. `roots` is asked in
    /// each round, because some may be opened late. `onEvent` must not block. `pulse` is called in each round of the housekeeping, whether or not the ledger answers. `checkInterval`:
    /// how often to look whether a migration has made this binary too old. `webhooks` runs as long as this does.
    /// `longestRest`: how long the housekeeping may wait for a notification while there is nothing to do.
    public init(
        _ configuration: LedgerConfiguration,
        roots: @escaping @Sendable () -> StorageRoots,
        webhooks: WebhookSender? = nil,
        onEvent: @escaping @Sendable (CoordinatorEvent) -> Void = { _ in },
        pulse: @escaping @Sendable () -> Void = {},
        checkInterval: Duration = .seconds(60),
        longestRest: Duration = .seconds(10)
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
        self.longestRest = longestRest
        self.webhooks = webhooks
        finisher = PublicationFinisher(ledger, files: files)
    }

    /// Runs until it is cancelled, or until a migration after which this binary cannot work with the ledger. Throws
    /// then, or if it cannot start; it waits through outages of the ledger.
    public func run() async throws {
        try await migrator.check(
            waitingFor: Self.startLimit,
            onWait: { error in self.onEvent(error.map { .ledgerAway($0.failure) } ?? .ledgerBack) }
        )
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
                group.addTask { await self.webhooks?.run(notifications: self.notifications) }
                group.addTask { await self.listen() }
            }
        } catch {
            end = error
        }
        await ledger.close()
        onEvent(.stopped)
        if let end { throw end }
    }

    /// Wakes everything that rests when the ledger notifies.
    private func listen() async {
        for await _ in ledger.workSignals(pace) {
            // A signal of the clock may stand for notifications that came before it listened.
            notifications.send()
            // The housekeeping has its own clock.
            pace.slowDown(since: pace.count)
        }
    }

    /// Throws `schemaTooNew`.
    private func keepHouse() async throws {
        var isAway = false
        var wait: Duration = .zero
        var seen = notifications.count
        var rests = false
        var checkedAt = ContinuousClock.now
        while !Task.isCancelled {
            // While it works, it takes its time whatever is notified.
            if rests {
                await notifications.wait(since: seen, until: .now + wait)
            } else {
                _ = await rest(wait)
            }
            guard !Task.isCancelled else { return }
            seen = notifications.count
            rests = false
            pulse()
            let started = ContinuousClock.now
            do {
                if started - checkedAt > checkInterval {
                    try await migrator.check()
                    checkedAt = started
                }
                let report = try await ledger.keepHouse(
                    for: .seconds(1),
                    within: .seconds(5),
                    rests: pace.isListening
                )
                if isAway { onEvent(.ledgerBack) }
                isAway = false
                for chore in report.chores { say(chore) }
                // Jitter: coordinators that started together must not stay in step.
                wait = .seconds(Double.random(in: 0.9...1.3))
                if let rest = report.rest {
                    let jitter = Duration.milliseconds(Int.random(in: 0...200))
                    wait = max(wait, min(rest + jitter, longestRest))
                    rests = true
                }
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
            let message = "the maintenance task \(chore.name) failed: \(error)"
            onEvent(.trouble(Failure(.choreFailed, at: .ledger, message)))
        } else if chore.name == "reap", chore.affected > 0 {
            onEvent(.reaped(chore.affected))
        }
    }

    private func finish() async {
        var wait = Self.finishInterval * Double.random(in: 0...0.2)
        while await rest(wait) {
            isSearching.store(true, ordering: .sequentiallyConsistent)
            searches.send()
            defer { isSearching.store(false, ordering: .sequentiallyConsistent) }
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
        while !Task.isCancelled {
            let seen = searches.count
            // Between two searches no call waits for a root.
            guard isSearching.load(ordering: .sequentiallyConsistent) || !files.silentRoots.isEmpty else {
                await searches.wait(since: seen)
                continue
            }
            guard await rest(.seconds(2)) else { return }
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
