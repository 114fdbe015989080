import Console
import Conversion

/// The size of a picture in pixels.
struct PictureSize: Sendable, Hashable {
    let width: Int
    let height: Int
}

extension ValueType where Value == PictureSize {
    /// `1200x200`
    static let pictureSize = ValueType(placeholder: "WxH") { text throws(Misfit) in
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1],
            Recipe.Waveform.widths.contains(width), Recipe.Waveform.heights.contains(height)
        else {
            let (widths, heights) = (Recipe.Waveform.widths, Recipe.Waveform.heights)
            throw Misfit(
                why: "must be a width and a height in pixels, as in 1200x200",
                hint: "from \(widths.lowerBound)x\(heights.lowerBound) to \(widths.upperBound)x\(heights.upperBound)"
            )
        }
        return PictureSize(width: width, height: height)
    }
}
