import Console
import Conversion

/// Loudness and peaks for people: one decimal, as meters show them.
enum LoudnessWords {
    /// `-16.0`
    static func figure(_ value: Double) -> String { Figures.decimals(value, 1) }

    /// `-16.0 LUFS`
    static func lufs(_ value: Double) -> String { "\(figure(value)) LUFS" }
}
