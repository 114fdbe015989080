public import Conversion

extension StorageError {
    /// The error as a `Failure`, which the ledger stores and the user reads.
    public var failure: Failure {
        Failure(
            code,
            at: stage,
            // Escaped, because names of files come from untrusted sources.
            ("cannot \(operation)\(place.map { " \($0)" } ?? ""): \(detail)"
                + (errnoName.map { " [\($0)]" } ?? "")).plain,
            hint: hint
        )
    }
}
