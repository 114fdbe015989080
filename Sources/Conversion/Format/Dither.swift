/// What happens to the bits of a sample that the output has no room for. Samples that fit are never changed.
public enum Dither: String, Sendable, Codable, CaseIterable {
    /// The sample is rounded to the nearest step.
    case rounding = "none"
    /// The sample is rounded after noise of triangular distribution was added, two steps wide: the error is noise of
    /// one level and not distortion. The noise has a fixed seed, so the same source gives the same bytes.
    case tpdf
}
