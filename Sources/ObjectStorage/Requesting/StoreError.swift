package import Conversion
import WebClient

/// Why an object store did not do what was asked.
///
/// Callers branch on `kind`; the texts are for users and may be reworded.
package struct StoreError: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case noSuchObject, noSuchBucket, noSuchUpload
        /// A condition of the request does not hold (412).
        case conditionFailed
        /// Another request for the same key is on its way (409).
        case conflict
        case accessDenied
        case noCredentials
        /// The clock of this machine is wrong, and the store does not say what time it is.
        case clockSkew
        /// The store does not answer, or says that it cannot answer now.
        case unavailable
        /// The store does not know the request, or one of its headers.
        case unsupported
        case refused
        case unexpectedAnswer
        /// The object is another one than at the beginning of reading.
        case changed
        /// A web server sends the object in a way that cannot be read, or by a redirect that is not followed.
        case notServed
        /// This machine could not store bytes on their way.
        case localDisk
        case stopped
    }

    package var kind: Kind
    /// What was tried, as a verb and its object: `read`.
    package var operation: String
    /// The bucket and the key.
    package var place: String
    /// What is wrong, for the user: a sentence without a full stop.
    package var detail: String
    package var hint: String?
    /// What the store said; `nil` if it did not answer.
    package var problem: StoreProblem?
    /// Whether the store may have done what was asked, by this attempt or an earlier one.
    package var mayHaveHappened: Bool

    package init(
        _ kind: Kind,
        _ operation: String,
        _ place: String,
        _ detail: String,
        hint: String? = nil,
        problem: StoreProblem? = nil,
        mayHaveHappened: Bool = false
    ) {
        self.kind = kind
        self.operation = operation
        self.place = place
        self.detail = detail
        self.hint = hint
        self.problem = problem
        self.mayHaveHappened = mayHaveHappened
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String { "cannot \(operation) \(place): \(detail)".plain }
}

extension StoreError.Kind {
    /// Why there is no answer.
    init(_ error: WebError) {
        self =
            switch error.kind {
            case .cannotResolve, .cannotConnect, .timedOut, .broken: .unavailable
            case .stopped: .stopped
            case .badRequest, .forbiddenAddress, .cannotSecure: .refused
            case .answerTooLong: .unexpectedAnswer
            }
    }

    /// What a store means by `problem`.
    init(_ problem: StoreProblem) {
        self =
            switch problem.code {
            case "NoSuchKey", "NoSuchVersion": .noSuchObject
            case "NoSuchBucket": .noSuchBucket
            case "NoSuchUpload": .noSuchUpload
            case "PreconditionFailed": .conditionFailed
            case "ConditionalRequestConflict", "OperationAborted", "Conflict": .conflict
            case "NotImplemented", "MethodNotAllowed": .unsupported
            case _ where problem.isClockSkew: .clockSkew
            case _ where problem.concernsCredentials: .accessDenied
            case _ where problem.isTemporary: .unavailable
            default: Self.ofStatus(problem.status)
            }
    }

    private static func ofStatus(_ status: Int) -> StoreError.Kind {
        switch status {
        case 401, 403: .accessDenied
        case 404: .noSuchObject
        case 409: .conflict
        case 412: .conditionFailed
        case 501: .unsupported
        default: .refused
        }
    }
}

extension StoreError {
    /// Which file of a job an object is.
    package enum Side: Sendable { case source, destination }

    /// The code by which a job fails with this error.
    package func code(_ side: Side) -> FailureCode {
        switch kind {
        case .noSuchObject: side == .source ? .sourceNotFound : .destinationIO
        case .noSuchBucket, .clockSkew, .unavailable: .storageUnavailable
        case .conditionFailed: side == .source ? .sourceChanged : .destinationExists
        case .accessDenied, .noCredentials: .permissionDenied
        case .changed: .sourceChanged
        case .notServed: side == .source ? .sourceNotServed : .destinationIO
        case .stopped: .cancelled
        case .localDisk: .diskFull
        case .noSuchUpload, .conflict, .unsupported, .refused, .unexpectedAnswer:
            side == .source ? .sourceIO : .destinationIO
        }
    }
}
