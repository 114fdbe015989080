import Conversion
import Glibc
import System

/// The end of a conversion to which a kernel error belongs.
enum End {
    case source, destination
}

extension StorageError {
    /// Translates the kernel's error `number`.
    ///
    /// `end` and `stage` state what was being done; `end` decides what a missing name and a failed transfer mean.
    init(errno number: Int32, _ end: End, at stage: Failure.Stage, _ operation: String, place: String? = nil) {
        self.init(
            FailureCode(errno: number, end),
            at: stage,
            operation,
            Self.text(of: number),
            place: place,
            errnoName: systemName(number)
        )
    }

    private static func text(of number: Int32) -> String {
        let text = systemText(number)
        // glibc writes "No such file"; here the text stands in the middle of a sentence.
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension FailureCode {
    fileprivate init(errno number: Int32, _ end: End) {
        self =
            switch number {
            case ENOENT: end == .source ? .sourceNotFound : .folderNotFound
            case ENOTDIR: end == .source ? .sourceNotFound : .folderNotFound
            case EISDIR: .notAFile
            case EEXIST: .destinationExists
            case EACCES, EPERM: .permissionDenied
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .diskFull
            case EMFILE, ENFILE: .tooManyFiles
            case ENAMETOOLONG, ELOOP, EILSEQ: .invalidPath
            case EMLINK, EOPNOTSUPP: .unsupportedDestination
            // The errors of a lost mount, a dead FUSE server or a removed disk.
            case ESTALE, ENOTCONN, ENXIO, ENODEV, EHOSTDOWN, EHOSTUNREACH, ETIMEDOUT, ECONNABORTED, ESHUTDOWN:
                .storageUnavailable
            default: end == .source ? .sourceIO : .destinationIO
            }
    }
}
