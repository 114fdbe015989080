public import Conversion

extension LedgerError {
    /// The same as people read it.
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
    /// What another try is worth. Where the database is what stands in the way, nothing is wrong with the request.
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
