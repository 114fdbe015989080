/// How samples are reduced to fewer bits for the output. Samples that fit are never changed.
public enum Dither: String, Sendable, Codable, CaseIterable {
    /// Rounds each sample to the nearest step.
    case rounding = "none"
    /// Adds noise of triangular distribution, two steps wide, before rounding, so that the error is noise at a
    /// constant level and not distortion. The noise has a fixed seed: the same source gives the same bytes.
    case tpdf
    /// The same noise, filtered so that it is lower from 2 to 5 kHz, where ears hear best, and higher above 10 kHz.
    /// Only at 44.1 and 48 kHz.
    case shaped

    /// The sample rates, in hertz, for which there is a filter.
    public static let shapedRates = [44_100, 48_000]
}
