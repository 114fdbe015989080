/// The kind of file that audio is written to. `FormatTable` lists the codecs that each one carries.
public enum Container: String, Sendable, Codable, CaseIterable {
    case wav, w64, aiff, aifc, caf, au, raw, flac, m4a, mp4, adts, mp3, ogg, webm, mka, wavpack

    /// The usual name, as refusals and documents write it.
    public var title: String {
        switch self {
        case .wav: "WAV"
        case .w64: "W64"
        case .aiff: "AIFF"
        case .aifc: "AIFC"
        case .caf: "CAF"
        case .au: "AU"
        case .raw: "raw"
        case .flac: "FLAC"
        case .m4a: "M4A"
        case .mp4: "MP4"
        case .adts: "ADTS"
        case .mp3: "MP3"
        case .ogg: "Ogg"
        case .webm: "WebM"
        case .mka: "Matroska"
        case .wavpack: "WavPack"
        }
    }

    /// Without dots, in lower case, the preferred one first.
    public var fileExtensions: [String] {
        switch self {
        case .wav: ["wav", "wave"]
        case .w64: ["w64"]
        case .aiff: ["aiff", "aif"]
        case .aifc: ["aifc"]
        case .caf: ["caf"]
        case .au: ["au", "snd"]
        case .raw: ["raw", "pcm"]
        case .flac: ["flac"]
        case .m4a: ["m4a", "m4b"]
        case .mp4: ["mp4"]
        case .adts: ["aac"]
        case .mp3: ["mp3"]
        case .ogg: ["ogg", "oga", "opus"]
        case .webm: ["webm"]
        case .mka: ["mka"]
        case .wavpack: ["wv"]
        }
    }

    /// The container and codec that a file extension implies; `nil` if it implies no container that Sluice writes.
    ///
    /// Case and a leading dot do not matter. The codec is given only where the extension names one: `opus`.
    public static func forFileExtension(_ fileExtension: String) -> (Container, Codec?)? {
        let bare = (fileExtension.hasPrefix(".") ? fileExtension.dropFirst() : fileExtension[...]).lowercased()
        guard let container = allCases.first(where: { $0.fileExtensions.contains(bare) }) else { return nil }
        return (container, bare == "opus" ? .opus : nil)
    }

    /// Whether 8-bit integer samples are signed in this container. If not, 128 is silence.
    public var eightBitIsSigned: Bool {
        switch self {
        case .aiff, .caf, .au: true
        default: false
        }
    }
}
