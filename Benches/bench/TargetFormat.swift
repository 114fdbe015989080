/// What is converted to, under the names that the measured programs know.
enum TargetFormat: String {
    // Clips.
    case wav16k
    case flac16k
    case mp3At16k = "mp3-16k"
    case opus16k
    // Long pieces.
    case wav
    case flac
    case mp3 = "mp3-128"
    case aac = "aac-128"
    case opus = "opus-96"
    // For memory only: the floor does not know them.
    case wav8k
    case aac16k

    /// The rate it is converted to; `nil` is the source's.
    var rate: Int? {
        switch self {
        case .wav16k, .flac16k, .mp3At16k, .opus16k, .aac16k: 16_000
        case .opus: 48_000
        case .wav8k: 8_000
        case .wav, .flac, .mp3, .aac: nil
        }
    }

    /// As the measured programs name their outputs.
    var fileExtension: String {
        switch self {
        case .wav16k, .wav, .wav8k: "wav"
        case .flac16k, .flac: "flac"
        case .mp3At16k, .mp3: "mp3"
        case .opus16k, .opus: "opus"
        case .aac, .aac16k: "m4a"
        }
    }

    /// What makes `ffmpeg` write the same.
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

    /// Frames that must come out for `frames` at `rate`, to the nearest.
    func frames(from frames: Int, rate: Int) -> Int {
        (frames * (self.rate ?? rate) * 2 + rate) / (rate * 2)
    }
}
