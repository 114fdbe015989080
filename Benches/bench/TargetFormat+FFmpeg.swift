import BenchNames

extension TargetFormat {
    /// The options with which `ffmpeg` produces the same format.
    var ffmpegArguments: [String] {
        switch self {
        case .wav: ["-c:a", "pcm_s16le"]
        case .flac: ["-c:a", "flac"]
        case .mp3: ["-c:a", "libmp3lame", "-b:a", "128k"]
        case .aac: ["-c:a", "aac", "-b:a", "128k"]
        case .opus: ["-c:a", "libopus", "-b:a", "96k", "-ar", "48000", "-af", "aresample=resampler=soxr"]
        case .wav16k, .flac16k, .mp3At16k, .opus16k, .wav8k, .aac16k:
            preconditionFailure("\(rawValue) is not measured beside ffmpeg")
        }
    }

    /// The number of frames that `frames` at `rate` must give, to the nearest.
    func frames(from frames: Int, rate: Int) -> Int {
        (frames * (self.rate ?? rate) * 2 + rate) / (rate * 2)
    }
}
