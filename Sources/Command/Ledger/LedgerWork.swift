import Ledger

/// What is asked of the ledger while a person waits for the answer.
enum LedgerWork {
    /// What `body` gives. The first signal cancels it; if nothing came of it then, `StoppedBySignal` is thrown.
    static func run<Value: Sendable>(
        _ invocation: Invocation,
        reachTimeout: Duration? = nil,
        onTick: () -> Void = {},
        _ body: @escaping @Sendable (JobLedger) async throws -> Value
    ) throws -> Value {
        var configuration = try LedgerOptions.configuration(invocation)
        if let reachTimeout { configuration.reachTimeout = reachTimeout }
        let ledger = try JobLedger(configuration)
        let result = ForegroundWork.run(onTick: onTick) { () async -> Result<Value, any Error> in
            let answer: Result<Value, any Error>
            do {
                answer = .success(try await body(ledger))
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

/// A signal came while a command waited, and there is nothing more to say.
struct StoppedBySignal: Error {
    let exitCode: ExitCode
}

/// What a command was asked about and cannot do, with its number for scripts.
struct Refusal: Error {
    let message: String
    var details: [String] = []
    var hint: String?
    var exitCode = ExitCode.failure

    /// `there is no job 17`
    static func missing(_ what: String) -> Refusal {
        Refusal(message: "there is no \(what)", exitCode: .notFound)
    }
}
