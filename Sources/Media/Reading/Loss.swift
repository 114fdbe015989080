import Conversion

/// Sound that is missing from a source, before the damage mode decides what to do about it.
struct Loss {
    let code: FailureCode
    /// At the track's rate; zero for damage without missing sound.
    var frames: Int64
    let detail: String
    /// libav's error, if libav detected the damage.
    var cause: LibAVError?
    /// What to do next, if it is not what the code advises.
    var hint: String?

    /// Sound that the header does not count: it counts `counted`, and the source holds `held`, by what `rest` says of it.
    static func uncounted(_ counted: MediaTime, of held: MediaTime, _ rest: String) -> Loss {
        let detail = "the header counts \(counted) of sound, and the source holds \(held): \(rest)"
        return Loss(code: .uncountedSound, frames: 0, detail: detail)
    }

    /// This loss combined with the loss directly after it.
    func followed(by other: Loss?) -> Loss {
        guard let other else { return self }
        return Loss(code: code, frames: frames.addingSaturated(other.frames), detail: detail, cause: cause)
    }

    /// The same damage, with the number of lost frames now known.
    func costing(_ frames: Int64) -> Loss { Loss(code: code, frames: frames, detail: detail, cause: cause) }
}
