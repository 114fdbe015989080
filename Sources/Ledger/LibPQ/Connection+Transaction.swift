import Conversion

extension Connection {
    /// Runs `body` in one transaction: all of it takes effect, or none of it.
    ///
    /// An error with `mayHaveHappened` means that the answer to COMMIT was lost.
    @discardableResult
    func transaction<Result>(_ mode: TransactionMode = .standard, _ body: () throws -> Result) throws -> Result {
        try script("begin" + mode.rawValue, changes: false)
        let result: Result
        do {
            result = try body()
        } catch {
            // The caller needs the first error. If the rollback fails as well, the end of the run closes the
            // connection.
            _ = try? script("rollback", changes: false)
            throw error
        }
        let tag = try script("commit", changes: true)
        guard tag == "COMMIT" else {
            // PostgreSQL answers so if a statement failed and `body` swallowed the error.
            throw failure(.ledgerBadStatement, "the transaction was rolled back because a statement in it failed")
        }
        return result
    }
}

/// The isolation and access mode of a transaction.
enum TransactionMode: String {
    case standard = ""
    /// Sees one snapshot of the database from its first statement to its last.
    case snapshot = " isolation level repeatable read read only"
    case readOnly = " read only"
}
