import Conversion
import Media

extension Failure {
    /// `error`, whatever its type, as a `Failure`.
    init(_ error: any Error) {
        switch error {
        case let error as MediaError: self.init(media: error)
        case let error as RecipeError:
            self.init(.recipeRefused, at: .open, error.description)
        case let error as Failure: self = error
        default: self.init(.unexpected, at: .open, "\(error)")
        }
    }

    private init(media error: MediaError) {
        self.init(
            error.code,
            at: error.stage,
            error.detail,
            stream: error.stream,
            position: error.position,
            frame: error.frame,
            libavName: error.libavName,
            libavText: error.libavText,
            hint: error.hint,
            refusals: error.refusal?.reasons
        )
        (output, contradiction) = (error.output, error.contradiction)
    }
}

extension Failure {
    /// The failure that a room reports before it exits because opening took too long.
    static var openSecondsExceeded: Failure {
        Failure(MediaError(.openSecondsExceeded, at: .open, "opening the source exceeded its limit of CPU time"))
    }
}
