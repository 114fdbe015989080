public import Conversion

extension LedgerError {
    /// The error as a failure, for people.
    public var failure: Failure {
        Failure(
            code: code.rawValue,
            kind: code.kind,
            stage: "ledger",
            message: "cannot \(operation): \(detail)"
                + (mayHaveHappened ? "; whether it was done is not known" : "") + (sqlState.map { " [\($0)]" } ?? ""),
            hint: hint
        )
    }
}

extension LedgerError.Code {
    /// How the ledger treats another try. When the database is the obstacle, the request itself is fine.
    public var kind: Failure.Kind {
        switch self {
        case .cannotReach, .connectionLost, .timedOut, .contention, .readOnly, .exhausted, .cancelled, .leaseOver:
            .infrastructure
        case .badConfiguration, .permissionDenied, .missing, .schemaTooOld, .schemaTooNew, .migrationChanged,
            .migrationFailed, .conflict, .refused, .badStatement, .unexpectedAnswer:
            .permanent
        }
    }
}
