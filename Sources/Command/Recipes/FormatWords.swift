import Console
import Conversion

/// Short descriptions of formats.
enum FormatWords {
    /// `aac 256k 44.1 kHz stereo`, `pcm s16 48 kHz mono`, `flac s24 96 kHz 5.1`
    static func short(_ format: ResolvedFormat) -> String {
        var words = [format.codec.rawValue]
        if let bitRate = format.bitRate {
            words.append(Figures.bitRate(bitRate))
        } else if let quality = format.quality {
            words.append("q" + (quality == quality.rounded() ? "\(Int(quality))" : "\(quality)"))
        } else if format.isLossless, format.codec != .copy {
            words.append((format.sampleKind == .float ? "f" : "s") + "\(format.bitDepth)")
        }
        return (words + [Figures.hertz(format.sampleRateHz), format.layout.description]).joined(separator: " ")
    }
}
