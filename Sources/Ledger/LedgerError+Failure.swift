public import Conversion

extension LedgerError {
    /// The error as a `Failure`, whose message is for users.
    public var failure: Failure {
        Failure(
            code,
            at: .ledger,
            "cannot \(operation): \(detail)"
                + (mayHaveHappened ? "; it may have taken effect" : "") + (sqlState.map { " [\($0)]" } ?? ""),
            hint: hint
        )
    }
}
