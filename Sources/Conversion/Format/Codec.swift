/// How audio is encoded. `copy` is not a codec: it passes the source's packets through untouched.
public enum Codec: String, Sendable, Codable, CaseIterable {
    case pcm, ulaw, alaw, flac, alac, aac, mp3, vorbis, opus, wavpack, copy

    /// The usual name, as refusals and documents write it.
    public var title: String {
        switch self {
        case .pcm: "PCM"
        case .ulaw: "mu-law"
        case .alaw: "A-law"
        case .flac: "FLAC"
        case .alac: "ALAC"
        case .aac: "AAC"
        case .mp3: "MP3"
        case .vorbis: "Vorbis"
        case .opus: "Opus"
        case .wavpack: "WavPack"
        case .copy: "passthrough"
        }
    }

    /// Whether decoding restores the exact samples that were encoded (for `copy`: the exact packets).
    public var isLossless: Bool {
        switch self {
        case .pcm, .flac, .alac, .wavpack, .copy: true
        case .ulaw, .alaw, .aac, .mp3, .vorbis, .opus: false
        }
    }

    /// Whether its streams state or imply a speaker for every channel, in every container. libav 5.1 cannot read
    /// WavPack of more than two channels without them.
    public var namesPositions: Bool {
        switch self {
        case .flac, .alac, .wavpack, .aac, .mp3, .vorbis, .opus: true
        case .pcm, .ulaw, .alaw, .copy: false
        }
    }
}

/// Whether a sample is an integer or a floating-point fraction of full scale.
public enum SampleKind: String, Sendable, Codable, CaseIterable {
    case integer, float
}

/// The byte order of a sample.
public enum Endianness: String, Sendable, Codable, CaseIterable {
    case little, big
}

/// How the channels of PCM are arranged in a file. No container written here accepts `planar`.
public enum Interleaving: String, Sendable, Codable, CaseIterable {
    case interleaved, planar
}
