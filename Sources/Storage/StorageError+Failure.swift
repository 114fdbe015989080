public import Conversion

extension StorageError {
    /// The same as the ledger keeps it and as people read it.
    public var failure: Failure {
        Failure(
            code: code.rawValue,
            kind: code.kind,
            stage: stage.rawValue,
            // Places are named by strangers.
            message: ("cannot \(operation)\(place.map { " \($0)" } ?? ""): \(detail)"
                + (errnoName.map { " [\($0)]" } ?? "")).plain,
            hint: hint
        )
    }
}

extension StorageError.Code {
    /// What another try is worth.
    ///
    /// A full disk is transient: an operator may free space, or another worker's disk may have it. But the job may be what fills it,
    /// so its tries are counted. A file system that went away
    /// and a root that this worker lacks say nothing about the job.
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
