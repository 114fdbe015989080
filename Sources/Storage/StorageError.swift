/// An error of a source, a destination, or the path to one of them.
///
/// Callers branch on `code` and `stage` only; `detail` and `hint` are for the user and may be reworded.
public struct StorageError: Error, Sendable, Hashable {
    public var code: Code
    public var stage: Stage
    /// The attempted operation, as a verb and its object: `open the source`.
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
        _ code: Code,
        at stage: Stage,
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
        self.hint = hint ?? code.hint
    }
}

extension StorageError {
    /// When it happened: before any work, or with the finished file ready to publish.
    public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
        case open, publish
    }

    /// Stable names; a name is never reused with another meaning. docs/errors.md explains them.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        case invalidPath = "invalid_path"
        case invalidLocation = "invalid_location"
        case invalidTemplate = "invalid_template"
        case unknownRoot = "unknown_root"
        case outsideRoot = "outside_root"
        case rootForbids = "root_forbids"
        case sourceNotFound = "source_not_found"
        case folderNotFound = "folder_not_found"
        case notAFile = "not_a_file"
        case destinationExists = "destination_exists"
        case destinationIsSource = "destination_is_source"
        case permissionDenied = "permission_denied"
        case readOnly = "read_only"
        case diskFull = "disk_full"
        case tooManyFiles = "too_many_files"
        case unsupportedDestination = "unsupported_destination"
        case unavailable = "storage_unavailable"
        case attemptLost = "attempt_lost"
        case attemptConflict = "attempt_conflict"
        case sourceIO = "io_source"
        case destinationIO = "io_destination"
    }
}

extension StorageError.Code {
    /// What a user can do about it; `nil` if there is no advice.
    var hint: String? {
        switch self {
        case .folderNotFound: "create the folder first"
        case .notAFile: "name a file"
        case .destinationExists: "choose another name, or ask to replace or to skip what exists"
        case .destinationIsSource: "write to another name; a source is never touched"
        case .diskFull: "free space at the destination and try again"
        case .tooManyFiles: "raise the limit of open files (ulimit -n)"
        case .unsupportedDestination: "write to a local disk and copy from there, or ask to replace what exists"
        case .unavailable: "look whether the file system is still mounted and its server answers"
        case .unknownRoot: "start a worker with --root NAME=PATH for it"
        case .rootForbids: "write elsewhere, or change the rules of the worker's --root"
        case .outsideRoot: "put the file below the root, or name a root that holds it"
        case .invalidPath, .invalidLocation, .invalidTemplate, .sourceNotFound, .permissionDenied, .readOnly,
            .attemptLost, .attemptConflict, .sourceIO, .destinationIO:
            nil
        }
    }
}

extension StorageError: CustomStringConvertible {
    public var description: String {
        "\(code.rawValue): cannot \(operation)\(place.map { " \($0)" } ?? ""): \(detail)"
            + (errnoName.map { " [\($0)]" } ?? "")
    }
}
