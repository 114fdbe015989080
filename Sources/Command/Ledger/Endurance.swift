import Console
import Conversion
import Ledger

/// Repeats reads of the ledger through outages, once the ledger has answered at all.
///
/// A restart of the database should not end a command that has waited for hours. But if the ledger has never
/// answered, its address may be wrong, and the error is thrown.
struct Endurance: Sendable {
    private let console: CommandOutput
    private var hasAnswered = false
    private var isAway = false

    init(console: CommandOutput) { self.console = console }

    /// Returns the result of `body`, or `nil` while the ledger is unreachable. Throws other errors.
    mutating func look<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value? {
        do {
            let value = try await body()
            if isAway { console.warn("the ledger is reachable again") }
            (hasAnswered, isAway) = (true, false)
            return value
        } catch let error as LedgerError where hasAnswered && error.isTransient {
            if !isAway { console.warn("the ledger is unreachable (\(error.code.rawValue)); still waiting") }
            isAway = true
            return nil
        }
    }
}
