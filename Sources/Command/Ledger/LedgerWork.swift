import Console
import Conversion
import Ledger
import LedgerClient

/// Operations on the ledger while the user waits.
enum LedgerWork {
    /// Returns the result of `body` on the ledger in use, which may be behind a coordinator's API. The first signal
    /// cancels it; `StoppedBySignal` is thrown if `body` then fails.
    static func run<Value: Sendable>(
        _ invocation: Invocation,
        reachTimeout: Duration? = nil,
        onTick: () -> Void = {},
        _ body: @escaping @Sendable (any CommandLedger) async throws -> Value
    ) throws -> Value {
        guard var place = try LedgerOptions.coordinator(invocation) else {
            return try runOnDatabase(invocation, reachTimeout: reachTimeout, onTick: onTick) { try await body($0) }
        }
        if let reachTimeout { place.reachTimeout = reachTimeout }
        let ledger = RemoteLedger(place)
        let result = ForegroundWork.run(onTick: onTick) { () async -> Result<Value, any Error> in
            do { return .success(try await body(ledger)) } catch { return .failure(error) }
        }
        if let signal = result.signal, case .failure = result.value { throw StoppedBySignal(exitCode: signal) }
        return try result.value.get()
    }

    /// The ledger in use, for a command that closes it itself.
    static func open(_ invocation: Invocation) throws -> any CommandLedger {
        if let place = try LedgerOptions.coordinator(invocation) { return RemoteLedger(place) }
        return try JobLedger(try LedgerOptions.configuration(invocation))
    }

    /// Returns the result of `body` on the ledger's database. The first signal cancels it; `StoppedBySignal` is thrown if
    /// `body` then fails.
    static func runOnDatabase<Value: Sendable>(
        _ invocation: Invocation,
        reachTimeout: Duration? = nil,
        onTick: () -> Void = {},
        _ body: @escaping @Sendable (JobLedger) async throws -> Value
    ) throws -> Value {
        var wanted = try LedgerOptions.configuration(invocation)
        if let reachTimeout { wanted.reachTimeout = reachTimeout }
        let configuration = wanted
        let ledger = try JobLedger(configuration)
        let result = ForegroundWork.run(onTick: onTick) { () async -> Result<Value, any Error> in
            let answer: Result<Value, any Error>
            do {
                answer = .success(try await body(ledger))
            } catch let error as LedgerError {
                answer = .failure(await error.explained(configuration))
            } catch {
                answer = .failure(error)
            }
            await ledger.close()
            return answer
        }
        if let signal = result.signal, case .failure = result.value { throw StoppedBySignal(exitCode: signal) }
        return try result.value.get()
    }
}

extension LedgerError {
    /// The error itself, or the version of the ledger as its cause: then a function that this command calls is missing,
    /// has other parameters, or answers in another shape.
    func explained(_ configuration: LedgerConfiguration) async -> LedgerError {
        guard [.ledgerMissing, .ledgerBadStatement, .ledgerUnexpectedAnswer].contains(code) else { return self }
        do {
            try await Migrator(configuration).check()
        } catch let cause as LedgerError where cause.code == .ledgerSchemaTooNew || cause.code == .ledgerSchemaTooOld {
            return cause
        } catch {
            // What failed first says more.
        }
        return self
    }
}

/// Thrown when a signal has stopped a command that has nothing more to report.
struct StoppedBySignal: Error {
    let exitCode: ExitCode
}

/// An error to report to the user, with an exit code for scripts.
struct Refusal: Error {
    let message: String
    var details: [String] = []
    var hint: String?
    var exitCode = ExitCode.failure

    /// `there is no job 17`
    static func missing(_ what: String) -> Refusal {
        Refusal(message: "no such \(what)", exitCode: .notFound)
    }
}
