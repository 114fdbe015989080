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
}
