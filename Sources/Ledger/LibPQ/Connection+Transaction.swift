import Conversion

extension Connection {
    /// Runs `body` in one transaction: all of it takes effect, or none of it.
    ///
    /// An error with `mayHaveHappened` means that the answer to COMMIT was lost.
    @discardableResult
    func transaction<Result>(
        _ mode: TransactionMode = .standard,
        isKept: Bool = true,
        _ body: () throws -> Result
    ) throws -> Result {
        // With the opening it is still one message.
        try script("begin" + mode.rawValue + (opening.map { "; " + $0.sql } ?? ""), changes: false, isOpened: true)
        let result: Result
        do {
            result = try body()
        } catch {
            // The caller needs the first error. If the rollback fails as well, the end of the run closes the
            // connection.
            _ = try? script("rollback", changes: false)
            throw error
        }
        guard isKept else {
            try script("rollback", changes: false)
            return result
        }
        let tag = try script("commit", changes: true)
        guard tag == "COMMIT" else {
            // PostgreSQL answers so if a statement failed and `body` swallowed the error.
            throw failure(.ledgerBadStatement, "the transaction was rolled back because a statement in it failed")
        }
        return result
    }
}

/// SQL with which each transaction of a run begins. It changes nothing that outlives the transaction.
struct TransactionOpening: Sendable, Hashable {
    /// One statement without parameters.
    let sql: String
    /// Whose share of the connections the run takes; `nil`: no share is counted.
    let account: String?
}

extension TransactionOpening {
    /// Makes settings that end with the transaction, in their order.
    init(settings: [(name: String, value: String)], account: String? = nil) {
        let calls = settings.map { "set_config(\(Self.literal($0.name)), \(Self.literal($0.value)), true)" }
        sql = "select " + calls.joined(separator: ", ")
        self.account = account
    }

    /// A text as a literal that means the same under all settings of the server.
    private static func literal(_ text: String) -> String {
        var literal = "E'"
        for character in text.unicodeScalars {
            switch character {
            case "'": literal += "''"
            case "\\": literal += "\\\\"
            default: literal.unicodeScalars.append(character)
            }
        }
        return literal + "'"
    }
}

/// The isolation and access mode of a transaction.
enum TransactionMode: String {
    case standard = ""
    /// Sees one snapshot of the database from its first statement to its last.
    case snapshot = " isolation level repeatable read read only"
    case readOnly = " read only"
}
