/// The target formats of the benches, under the names that the measured programs use.
public enum TargetFormat: String, Sendable {
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
    // For memory only: the floor program lacks them.
    case wav8k
    case aac16k

    /// The target sample rate in Hz; `nil` keeps the source's.
    public var rate: Int? {
        switch self {
        case .wav16k, .flac16k, .mp3At16k, .opus16k, .aac16k: 16_000
        case .opus: 48_000
        case .wav8k: 8_000
        case .wav, .flac, .mp3, .aac: nil
        }
    }

    /// The extension that the measured programs give their outputs.
    public var fileExtension: String {
        switch self {
        case .wav16k, .wav, .wav8k: "wav"
        case .flac16k, .flac: "flac"
        case .mp3At16k, .mp3: "mp3"
        case .opus16k, .opus: "opus"
        case .aac, .aac16k: "m4a"
        }
    }
}
