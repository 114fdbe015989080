public import Conversion

/// What went wrong with a place where bytes live: a source, a destination, or the way to one of them.
///
/// Callers branch on `code` and `stage` only; `detail` and `hint` are for the user and may be reworded.
public struct StorageError: Error, Sendable, Hashable {
    public var code: FailureCode
    public var stage: Failure.Stage
    /// What was tried, as a verb and its object: `open the source`.
    public var operation: String
    /// What is wrong, for the user: a sentence without a full stop.
    public var detail: String
    /// The path or location concerned, as the caller wrote it.
    public var place: String?
    /// The C library's name of the error, if the kernel returned one: `ENOSPC`.
    public var errnoName: String?
    /// What the user can do next.
    public var hint: String?

    public init(
        _ code: FailureCode,
        at stage: Failure.Stage,
        _ operation: String,
        _ detail: String,
        place: String? = nil,
        errnoName: String? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.stage = stage
        self.operation = operation
        self.detail = detail
        self.place = place
        self.errnoName = errnoName
        self.hint = hint ?? code.advice
    }
}

extension StorageError: CustomStringConvertible {
    public var description: String {
        "\(code.rawValue): cannot \(operation)\(place.map { " \($0)" } ?? ""): \(detail)"
            + (errnoName.map { " [\($0)]" } ?? "")
    }
}

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
