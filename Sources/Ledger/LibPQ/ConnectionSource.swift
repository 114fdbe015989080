import Conversion
import System

/// A connection pool. Each run borrows one connection.
///
/// The pool opens a connection only when one is needed. It replaces a broken one before the next run. Runs for other callers
/// have shares (`ConnectionShares`), so that none of them takes all connections.
actor ConnectionSource {
    nonisolated let configuration: LedgerConfiguration
    private var idle: [Connection] = []
    /// Connections that exist or are being opened.
    private var count = 0
    private var waiting: [Waiter] = []
    private var shares: ConnectionShares
    private var lastNumber: UInt64 = 0
    private var isClosed = false

    private struct Waiter {
        let number: UInt64
        let share: ConnectionShares.Share?
        let place: CheckedContinuation<Place, any Error>
    }

    /// What a waiting caller receives.
    private enum Place {
        case connection(Connection)
        /// The right to open a connection.
        case empty
    }

    /// Throws `badConfiguration`.
    init(_ configuration: LedgerConfiguration) throws {
        try configuration.validate()
        self.configuration = configuration
        shares = ConnectionShares(connections: configuration.connectionLimit)
    }

    /// Runs `body` on one connection, within its own time limit or the configuration's.
    ///
    /// Getting a connection has a separate limit, `reachTimeout`. After it, throws `cannotReach`, or `exhausted` if
    /// all connections were in use.
    @discardableResult
    nonisolated func run<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        opening: TransactionOpening? = nil,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        let limit = limit ?? configuration.operationTimeout
        let share = opening?.account.map {
            ConnectionShares.Share(account: $0, isLong: limit > configuration.operationTimeout)
        }
        let deadline = ContinuousClock.now + configuration.reachTimeout
        if case .connection(let connection) = try await place(for: operation, share, until: deadline) {
            let loan = await connection.lend(operation, within: limit, opening: opening, ifUsable: true, body)
            if case .over(let result, let isUsable) = loan {
                await giveBack(connection, isUsable: isUsable, share)
                return try result.get()
            }
            // The server has closed it since the last run.
            await connection.close()
        }
        let connection = try await open(for: operation, share, until: deadline)
        guard
            case .over(let result, let isUsable) =
                await connection.lend(operation, within: limit, opening: opening, ifUsable: false, body)
        else { preconditionFailure("a loan that asks for nothing is never refused") }
        await giveBack(connection, isUsable: isUsable, share)
        return try result.get()
    }

    /// Runs `body` in one transaction, and retries it after conflicts, `tries` times at most.
    ///
    /// `body` must be safe to repeat. A try that may have taken effect is not repeated.
    @discardableResult
    nonisolated func transaction<Result: Sendable>(
        _ operation: String,
        within limit: Duration? = nil,
        tries: Int = 5,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        var backoff = BackOff(first: .milliseconds(10), longest: .seconds(1))
        while true {
            do {
                return try await run(operation, within: limit) { connection in
                    try connection.transaction { try body(connection) }
                }
            } catch let error as LedgerError
                where !error.mayHaveHappened && backoff.tries + 1 < tries
                && [.ledgerContention, .ledgerConnectionLost, .ledgerReadOnly].contains(error.code)
            {
                try await pause(backoff.next(), operation)
            }
        }
    }

    /// Closes the idle connections now, and the others when they are returned. Waiting and later callers get
    /// `cancelled`.
    func close() async {
        isClosed = true
        for one in waiting { one.place.resume(throwing: closed("wait for a connection")) }
        waiting = []
        count -= idle.count
        for connection in idle { await connection.close() }
        idle = []
    }

    // MARK: - Lending

    /// A new connection for a place that the caller has.
    private func open(
        for operation: String,
        _ share: ConnectionShares.Share?,
        until deadline: ContinuousClock.Instant
    ) async throws -> Connection {
        do {
            return try await Connection.open(configuration, for: operation, until: deadline)
        } catch {
            count -= 1
            shares.release(share)
            serve()
            throw error
        }
    }

    private func place(
        for operation: String,
        _ share: ConnectionShares.Share?,
        until deadline: ContinuousClock.Instant
    ) async throws -> Place {
        guard !isClosed else { throw closed(operation) }
        if shares.permit(share), let place = freePlace() {
            shares.take(share)
            return place
        }
        if let share, waiting.count(where: { $0.share?.account == share.account }) >= shares.line {
            throw LedgerError(
                .ledgerExhausted,
                during: operation,
                "\(Plural.count(shares.line, "call")) of this caller wait for a connection already"
            )
        }
        lastNumber += 1
        let number = lastNumber
        let limit = configuration.connectionLimit
        let timer = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            self.dismiss(
                number,
                LedgerError(
                    .ledgerExhausted,
                    during: operation,
                    "timed out: all \(Plural.count(limit, "connection")) were in use"
                )
            )
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { place in
                guard !Task.isCancelled else { return place.resume(throwing: Self.cancelled(operation)) }
                waiting.append(Waiter(number: number, share: share, place: place))
            }
        } onCancel: {
            Task { await self.dismiss(number, Self.cancelled(operation)) }
        }
    }

    private func dismiss(_ number: UInt64, _ error: LedgerError) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).place.resume(throwing: error)
    }

    private func giveBack(_ connection: Connection, isUsable: Bool, _ share: ConnectionShares.Share?) async {
        if isUsable, !isClosed {
            idle.append(connection)
        } else {
            await connection.close()
            count -= 1
        }
        shares.release(share)
        serve()
    }

    /// An idle connection, or the right to open one; `nil` if all are in use.
    private func freePlace() -> Place? {
        if let connection = idle.popLast() { return .connection(connection) }
        guard count < configuration.connectionLimit else { return nil }
        count += 1
        return .empty
    }

    /// Gives what is free to those who wait.
    private func serve() {
        while let index = shares.next(of: waiting.lazy.map(\.share)), let place = freePlace() {
            let waiter = waiting.remove(at: index)
            shares.take(waiter.share)
            waiter.place.resume(returning: place)
        }
    }

    private static func cancelled(_ operation: String) -> LedgerError {
        LedgerError(.cancelled, during: operation, "the task was cancelled")
    }

    private func closed(_ operation: String) -> LedgerError {
        LedgerError(.cancelled, during: operation, "the ledger was closed")
    }
}

extension Connection {
    /// A new connection. Retries with full jitter until `deadline`, and then throws `cannotReach`.
    ///
    /// Does not retry errors that another try cannot mend: no permission, no such database.
    static func open(
        _ configuration: LedgerConfiguration,
        for operation: String = "connect",
        until deadline: ContinuousClock.Instant
    ) async throws -> Connection {
        var backoff = BackOff()
        var earlier: LedgerError?
        while true {
            do {
                return try await openOnce(configuration, for: operation, within: max(deadline - .now, .milliseconds(1)))
            } catch var error as LedgerError where error.code == .ledgerCannotReach {
                // A try that the deadline cut short has a less useful error than the one before it.
                if let earlier, deadline <= .now { error = earlier }
                earlier = error
                let wait = backoff.next()
                guard .now + wait < deadline else {
                    error.detail += backoff.tries > 1 ? ", after \(backoff.tries) tries" : ""
                    throw error
                }
                try await pause(wait, operation)
            }
        }
    }

    /// A new connection. Makes only one try.
    static func openOnce(
        _ configuration: LedgerConfiguration,
        for operation: String,
        within limit: Duration
    ) async throws -> Connection {
        let connection = try Connection(to: configuration.address, cancelGrace: configuration.cancelGrace)
        let hostLimit = configuration.connectTimeout
        try await connection.run(operation, within: limit) { try $0.connect(hostLimit: hostLimit) }
        return connection
    }
}

/// Sleeps for `duration`. Throws a `LedgerError` with the code `cancelled` if the task is cancelled.
func pause(_ duration: Duration, _ operation: String) async throws {
    do {
        try await Task.sleep(for: duration, clock: .continuous)
    } catch {
        throw LedgerError(.cancelled, during: operation, "the task was cancelled")
    }
}
