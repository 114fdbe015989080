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
    /// What the source promises and what was found; `nil` if data cannot be decoded or is missing.
    var contradiction: Contradiction?

    /// Whether only a statement of the container shows the loss, and all data that is there can be decoded.
    var isByContainer: Bool { contradiction?.known?.isOfContainer == true }

    /// What is told of it: without a contradiction, that the data shows it.
    var evidence: Contradiction { contradiction ?? Contradiction(.decoding, found: detail) }

    /// Sound that the header does not count: it counts `counted`, and the source holds `held`, by what `rest` says of it.
    static func uncounted(_ counted: MediaTime, of held: MediaTime, _ rest: String) -> Loss {
        let detail = "the header counts \(counted) of sound, and the source holds \(held): \(rest)"
        let contradiction = Contradiction(
            .countedBytes,
            promised: "\(counted) of sound by the header",
            found: "\(held) of sound: \(rest)"
        )
        return Loss(code: .uncountedSound, frames: 0, detail: detail, contradiction: contradiction)
    }

    /// This loss combined with the loss directly after it.
    func followed(by other: Loss?) -> Loss {
        guard let other else { return self }
        var whole = costing(frames.addingSaturated(other.frames))
        // What cannot be decoded weighs more than what the container says.
        if isByContainer, !other.isByContainer { whole.contradiction = other.contradiction }
        return whole
    }

    /// The same damage, with the number of lost frames now known.
    func costing(_ frames: Int64) -> Loss {
        Loss(code: code, frames: frames, detail: detail, cause: cause, contradiction: contradiction)
    }
}
