import Console
import Conversion

/// Short descriptions of waveforms.
enum WaveformWords {
    /// `94 peaks of 256 frames, 8 bits`, `picture of 1,200 x 200 pixels, 2 channels`
    static func short(_ report: WaveformReport) -> String {
        var words: [String] = []
        if let width = report.width, let height = report.height {
            words.append("picture of \(Figures.grouped(width)) x \(Figures.grouped(height)) pixels")
        }
        if let length = report.length, let zoom = report.samplesPerPixel {
            words.append("\(Figures.count(length, "peak")) of \(Figures.count(zoom, "frame"))")
        }
        if let bits = report.bits { words.append("\(bits) bits") }
        if report.channelCount > 1 { words.append(Figures.count(report.channelCount, "channel")) }
        return words.joined(separator: ", ")
    }
}
