import Conversion
import Media

extension Failure {
    /// `error` in the words of the house, whatever the conversion threw.
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
    /// What a room says before it ends for it.
    static var openSecondsExceeded: Failure {
        Failure(MediaError(.openSecondsExceeded, at: .open, "opening the source took more processor time than it may"))
    }
}

extension MediaError.Code {
    /// What another try is worth. The table in docs/errors.md is held to this.
    var kind: Failure.Kind {
        switch self {
        case .sourceIO, .destinationIO, .diskFull, .outOfMemory, .verifyMismatch: .transient
        // Nothing failed: the caller asked for an end, and another worker does the work.
        case .cancelled: .infrastructure
        default: .permanent
        }
    }
}
