public import Conversion

extension StorageError {
    /// The error as a `Failure`, which the ledger stores and the user reads.
    public var failure: Failure {
        Failure(
            code: code.rawValue,
            kind: code.kind,
            stage: stage.rawValue,
            // Escaped, because names of files come from untrusted sources.
            message: ("cannot \(operation)\(place.map { " \($0)" } ?? ""): \(detail)"
                + (errnoName.map { " [\($0)]" } ?? "")).plain,
            hint: hint
        )
    }
}

extension StorageError.Code {
    /// Whether a retry can help.
    ///
    /// A full disk is transient: an operator may free space, or another worker's disk may have some. But the job
    /// itself may be what fills the disk, so its attempts count. A lost file system, or a root that this worker
    /// lacks, says nothing about the job.
    public var kind: Failure.Kind {
        switch self {
        case .invalidPath, .sourceNotFound, .folderNotFound, .notAFile, .destinationExists, .destinationIsSource,
            .permissionDenied, .readOnly, .unsupportedDestination, .invalidLocation, .invalidTemplate, .outsideRoot,
            .rootForbids:
            .permanent
        case .diskFull, .tooManyFiles, .sourceIO, .destinationIO, .attemptLost, .attemptConflict: .transient
        case .unavailable, .unknownRoot: .infrastructure
        }
    }
}
