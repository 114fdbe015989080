extension Connection {
    /// Does `body` in one transaction: all of it is done, or nothing.
    ///
    /// If `mayHaveHappened` is set in what it throws, the answer to COMMIT was lost.
    @discardableResult
    func transaction<Result>(_ mode: TransactionMode = .standard, _ body: () throws -> Result) throws -> Result {
        try script("begin" + mode.rawValue, changes: false)
        let result: Result
        do {
            result = try body()
        } catch {
            // The error is what counts. If this fails as well, the run's end closes the connection.
            _ = try? script("rollback", changes: false)
            throw error
        }
        let tag = try script("commit", changes: true)
        guard tag == "COMMIT" else {
            // PostgreSQL's answer if a statement failed and the error was swallowed.
            throw failure(.badStatement, "the transaction was rolled back, because a statement in it had failed")
        }
        return result
    }
}

/// What a transaction sees and may do.
enum TransactionMode: String {
    case standard = ""
    /// Sees one state of the database from its first statement to its last.
    case snapshot = " isolation level repeatable read read only"
    case readOnly = " read only"
}
