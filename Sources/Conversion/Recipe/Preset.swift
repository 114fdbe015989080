/// A named format for a common purpose.
public struct Preset: Sendable, Hashable {
    /// As the user types it.
    public let name: String
    /// The result, in one line.
    public let summary: String
    /// The format, with the container for destinations that name none.
    public let format: AudioFormat
    /// The oldest version of recipes whose readers know the name. Older workers refuse a job with it for good.
    let recipeVersion: Int

    private init(_ name: String, _ summary: String, _ format: AudioFormat, recipeVersion: Int = 1) {
        self.name = name
        self.summary = summary
        self.format = format
        self.recipeVersion = recipeVersion
    }

    /// The format in the container that the destination's extension names, if that container takes the codec.
    ///
    /// `opus-96` makes an Ogg file, but `talk.webm` becomes WebM. Passthrough takes any container.
    public func format(forExtension fileExtension: String?) -> AudioFormat {
        format.adapted(toExtension: fileExtension)
    }
}

extension AudioFormat {
    /// The format in the container that an extension names, if that takes the codec, or else unchanged.
    func adapted(toExtension fileExtension: String?) -> AudioFormat {
        guard let fileExtension, let (container, _) = Container.forFileExtension(fileExtension) else { return self }
        let codec = codec ?? FormatTable.defaultCodec(for: self.container)
        guard codec == .copy || FormatTable.rule(container, codec) != nil else { return self }
        var result = self
        result.container = container
        result.codec = codec
        return result
    }
}

// MARK: - The list

extension Preset {
    /// Every preset, in display order.
    public static let all: [Preset] = [
        Preset("wav", "PCM in WAV, all else as in the source", AudioFormat(container: .wav, codec: .pcm)),
        Preset("caf", "PCM in CAF, all else as in the source", AudioFormat(container: .caf, codec: .pcm)),
        Preset("aiff", "PCM in AIFF, all else as in the source", AudioFormat(container: .aiff, codec: .pcm)),
        Preset(
            "archive-flac",
            "FLAC, lossless, all else as in the source",
            AudioFormat(container: .flac, codec: .flac)
        ),
        Preset(
            "apple-m4a",
            "AAC in M4A, 256k for stereo, at most 44.1 kHz and stereo",
            AudioFormat(
                container: .m4a,
                codec: .aac,
                bitRatePerChannel: 128_000,
                maximumSampleRateHz: 44_100,
                maximumChannelCount: 2
            )
        ),
        Preset("alac", "Apple Lossless in M4A, all else as in the source", AudioFormat(container: .m4a, codec: .alac)),
        Preset(
            "mp3-v0",
            "MP3 at the best variable bit rate, about 245k",
            AudioFormat(container: .mp3, codec: .mp3, quality: 0)
        ),
        Preset("mp3-128", "MP3 at 128k", AudioFormat(container: .mp3, codec: .mp3, bitRate: 128_000)),
        Preset(
            "podcast-mp3",
            "MP3 at 128k and 44.1 kHz, for every podcast player",
            AudioFormat(container: .mp3, codec: .mp3, sampleRateHz: 44_100, bitRate: 128_000)
        ),
        Preset(
            "acx",
            "MP3 at 192k, 44.1 kHz and mono, as ACX takes audiobooks",
            AudioFormat(container: .mp3, codec: .mp3, sampleRateHz: 44_100, channelCount: 1, bitRate: 192_000),
            recipeVersion: 4
        ),
        Preset(
            "librivox",
            "MP3 at 128k, 44.1 kHz and mono, as LibriVox takes recordings",
            AudioFormat(container: .mp3, codec: .mp3, sampleRateHz: 44_100, channelCount: 1, bitRate: 128_000),
            recipeVersion: 4
        ),
        Preset("opus-96", "Opus in Ogg at 96k", AudioFormat(container: .ogg, codec: .opus, bitRate: 96_000)),
        Preset(
            "opus-voice-24",
            "Opus in Ogg for speech, mono at 24k",
            AudioFormat(container: .ogg, codec: .opus, channelCount: 1, bitRate: 24_000)
        ),
        Preset("vorbis-q6", "Vorbis in Ogg at quality 6", AudioFormat(container: .ogg, codec: .vorbis, quality: 6)),
        Preset(
            "speech-16k",
            "16 kHz mono 16-bit PCM in WAV, for speech recognition",
            AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 16_000, channelCount: 1, bitDepth: 16)
        ),
        Preset(
            "telephony-ulaw-8k",
            "8 kHz mono mu-law in WAV, for telephone systems",
            AudioFormat(container: .wav, codec: .ulaw, sampleRateHz: 8000, channelCount: 1)
        ),
        Preset(
            "passthrough",
            "the source's packets unchanged, in the container of the output's extension",
            AudioFormat(container: .mka, codec: .copy)
        ),
    ]

    /// The preset called `name`, in upper or lower case. The error suggests the most similar name.
    public static func named(_ name: String) throws(UnknownPreset) -> Preset {
        let wanted = name.lowercased()
        if let preset = all.first(where: { $0.name == wanted }) { return preset }
        let suggestions = EditDistance.suggestions(for: wanted, among: all.map(\.name))
        throw UnknownPreset(name: name, suggestions: suggestions)
    }
}

/// No preset has this name.
public struct UnknownPreset: Error, Sendable, Hashable, CustomStringConvertible {
    /// The requested name.
    public let name: String
    /// The presets that were probably meant; empty if no name is similar.
    public let suggestions: [String]

    /// For example `unknown preset "mp3-v00"; did you mean "mp3-v0"?`
    public var description: String {
        let known = "known: \(Preset.all.map(\.name).joined(separator: ", "))"
        let meant = suggestions.map { "\"\($0)\"" }.joined(separator: " or ")
        return "unknown preset \"\(name)\"; " + (meant.isEmpty ? known : "did you mean \(meant)?")
    }
}
