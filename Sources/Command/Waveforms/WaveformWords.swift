import Console
import Conversion

/// Short descriptions of waveforms.
enum WaveformWords {
    /// What a recipe wants: `waveform`, `waveform, 512 frames for each peak, 16 bits, each channel`
    static func short(_ wish: Recipe.Waveform) -> String {
        let (width, height) = wish.size
        let size = "\(Figures.grouped(width)) x \(Figures.grouped(height)) pixels"
        let parts: [String?] = [
            wish.spectrogram.map { "spectrogram, \($0.rawValue)" } ?? "waveform",
            wish.samplesPerPixel.map { "\(Figures.count($0, "frame")) for each peak" },
            wish.bits.map { "\($0) bits" }, wish.width == nil && wish.height == nil ? nil : size,
            wish.theme?.rawValue, wish.splitsChannels ? "each channel" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    /// What outputs with the same purpose have in common.
    static func kind(ofSpectrogram isSpectrogram: Bool) -> String { isSpectrogram ? "spectrogram" : "waveform" }

    /// `94 peaks of 256 frames, 8 bits`, `picture of 1,200 x 200 pixels, 2 channels`
    static func short(_ report: WaveformReport) -> String {
        var words: [String] = []
        if let width = report.width, let height = report.height {
            let kind = report.spectrogram == nil ? "picture" : "spectrogram"
            words.append("\(kind) of \(Figures.grouped(width)) x \(Figures.grouped(height)) pixels")
        }
        if let length = report.length, let zoom = report.samplesPerPixel {
            words.append("\(Figures.count(length, "peak")) of \(Figures.count(zoom, "frame"))")
        }
        if let bits = report.bits { words.append("\(bits) bits") }
        if report.channelCount > 1 { words.append(Figures.count(report.channelCount, "channel")) }
        return words.joined(separator: ", ")
    }
}
