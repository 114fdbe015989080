public import Conversion

extension LedgerError {
    /// The error as a failure, for people.
    public var failure: Failure {
        Failure(
            code,
            at: .ledger,
            "cannot \(operation): \(detail)"
                + (mayHaveHappened ? "; whether it was done is not known" : "") + (sqlState.map { " [\($0)]" } ?? ""),
            hint: hint
        )
    }
}
