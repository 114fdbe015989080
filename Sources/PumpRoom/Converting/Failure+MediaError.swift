import Conversion
import Media

extension Failure {
    /// `error`, whatever its type, as a `Failure`.
    init(_ error: any Error) {
        switch error {
        case let error as MediaError: self.init(media: error)
        case let error as RecipeError:
            self.init(code: "recipe_refused", kind: .permanent, stage: "open", message: error.description)
        case let error as Failure: self = error
        default: self.init(code: "unexpected", kind: .permanent, stage: "open", message: "\(error)")
        }
    }

    private init(media error: MediaError) {
        self.init(
            code: error.code.rawValue,
            kind: error.code.kind,
            stage: error.stage.rawValue,
            message: error.detail,
            stream: error.stream,
            position: error.position,
            frame: error.frame,
            libavName: error.libavName,
            libavText: error.libavText,
            hint: error.hint,
            refusals: error.refusal?.reasons
        )
    }
}

extension Failure {
    /// The failure that a room reports before it exits because opening took too long.
    static var openSecondsExceeded: Failure {
        Failure(MediaError(.openSecondsExceeded, at: .open, "opening the source took more processor time than it may"))
    }
}

extension MediaError.Code {
    /// Whether a retry is worthwhile. A test checks the table in docs/errors.md against this.
    var kind: Failure.Kind {
        switch self {
        case .sourceIO, .destinationIO, .diskFull, .outOfMemory, .verifyMismatch: .transient
        // Not a failure: the caller cancelled the job, and another worker will do it.
        case .cancelled: .infrastructure
        default: .permanent
        }
    }
}
