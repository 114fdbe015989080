public import Conversion

extension TargetFormat {
    /// The settings in the floor program's table of targets.
    public var format: AudioFormat {
        switch self {
        case .wav16k: AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 16_000, bitDepth: 16)
        case .flac16k: AudioFormat(container: .flac, codec: .flac, sampleRateHz: 16_000, bitDepth: 16)
        case .mp3At16k: AudioFormat(container: .mp3, codec: .mp3, sampleRateHz: 16_000, bitRate: 48_000)
        case .opus16k: AudioFormat(container: .ogg, codec: .opus, sampleRateHz: 16_000, bitRate: 24_000)
        case .wav: AudioFormat(container: .wav, codec: .pcm, bitDepth: 16, sampleKind: .integer)
        case .flac: AudioFormat(container: .flac, codec: .flac, bitDepth: 16)
        case .mp3: AudioFormat(container: .mp3, codec: .mp3, bitRate: 128_000)
        case .aac: AudioFormat(container: .m4a, codec: .aac, bitRate: 128_000)
        case .opus: AudioFormat(container: .ogg, codec: .opus, sampleRateHz: 48_000, bitRate: 96_000)
        case .wav8k: AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 8_000, channelCount: 1, bitDepth: 16)
        case .aac16k: AudioFormat(container: .m4a, codec: .aac, sampleRateHz: 16_000, bitRate: 48_000)
        }
    }
}
