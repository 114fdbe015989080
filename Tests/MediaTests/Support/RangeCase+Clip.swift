import TestSupport

extension RangeCase {
    /// Makes a clip of a sweep in `folder` and returns its path.
    func clip(in folder: TemporaryFolder, seconds: Int = 5) throws -> String {
        let frames = seconds * rate + 321
        let sweep = Signal.sweep(to: Double(rate) * 0.3, rate: rate, frames: frames, channels: channels)
        let path = folder.path(name)
        try FFmpeg.encode(sweep.pcm(.s16), to: path, arguments)
        return path
    }

    /// A clip that is longer than what a decoder needs to settle.
    func longClip(in folder: TemporaryFolder) throws -> String {
        try clip(in: folder, seconds: arguments.contains("libopus") ? 10 : 5)
    }

    /// Least signal-to-noise ratio after a seek; `nil` where the samples must be identical.
    ///
    /// The decoders of AC-3 draw noise. Opus for speech at low rates remembers more than the three seconds before a seek:
    /// 95 dB were the least in 40 places.
    var seekFloor: Double? {
        if name == "voip.opus" { return 85 }
        return ["ac3", "eac3"].contains { name.contains($0) } ? 40 : nil
    }
}
