/// How exactly the sample rate is converted. `docs/formats.md` states the figures.
public enum ResampleQuality: String, Sendable, Codable, CaseIterable {
    /// For speech and previews: distortion about 100 dB below full scale.
    case fast
    /// As exact as the output's bit depth can show.
    case standard = "default"
    /// As exact as soxr can be, whatever the output.
    case best
}
