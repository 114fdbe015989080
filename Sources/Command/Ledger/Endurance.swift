import Ledger

/// Looks at the ledger again and again, through outages too, once it has answered at all.
///
/// A command that has waited for hours should not have to be started again because a database was restarted. A ledger that has never
/// answered is another matter: its address may be wrong.
struct Endurance: Sendable {
    private let console: Console
    private var hasAnswered = false
    private var isAway = false

    init(console: Console) { self.console = console }

    /// What `body` gives; `nil` while the ledger is away. Other errors are thrown on.
    mutating func look<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value? {
        do {
            let value = try await body()
            if isAway { console.warn("the ledger answers again") }
            (hasAnswered, isAway) = (true, false)
            return value
        } catch let error as LedgerError where hasAnswered && error.isTransient {
            if !isAway { console.warn("the ledger does not answer (\(error.code.rawValue)); waiting goes on") }
            isAway = true
            return nil
        }
    }
}
