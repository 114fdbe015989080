/// Sound that is missing from a source, before it is decided what to do about it.
struct Loss {
    let code: MediaError.Code
    /// At the track's rate; zero where something was damaged and no sound is missing.
    var frames: Int64
    let detail: String
    /// What libav said, where it was libav that noticed.
    var cause: LibAVError?

    /// This loss and what was lost right behind it.
    func followed(by other: Loss?) -> Loss {
        guard let other else { return self }
        return Loss(code: code, frames: frames.addingSaturated(other.frames), detail: detail, cause: cause)
    }

    /// The same damage, of which it is known now what it has cost.
    func costing(_ frames: Int64) -> Loss { Loss(code: code, frames: frames, detail: detail, cause: cause) }
}
