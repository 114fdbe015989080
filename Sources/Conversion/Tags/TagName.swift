/// The name of a tag, independent of the format in which it stands.
public enum TagName: Sendable, Hashable {
    /// A name of `TagTable`, such as `albumartist`.
    case common(String)
    /// A name that users or programs made up, such as `MYFIELD`. All formats with free names can hold it.
    case custom(String)
    /// A name that only `format` knows and that the table does not have, such as ID3's `RVA2`.
    case native(String, TagFormat)

    /// The name in `TagTable`; `nil` for others.
    public var rowName: String? {
        guard case .common(let name) = self else { return nil }
        return name
    }
}

/// A format of tags. A container may hold more than one: WAV has RIFF's list and may have an ID3 tag.
public enum TagFormat: String, Sendable, Hashable, CaseIterable {
    /// ID3v2.4.
    case id3
    /// ID3v2.3, where it differs from 2.4.
    case id3v23
    /// Vorbis comments: FLAC and Ogg.
    case vorbis
    case mp4
    /// APEv2: WavPack, Monkey's Audio, Musepack.
    case ape
    case matroska
    /// The INFO list of WAV.
    case riff
    /// Windows Media.
    case asf

    /// The format as people write it.
    public var title: String {
        switch self {
        case .id3: "ID3v2.4"
        case .id3v23: "ID3v2.3"
        case .vorbis: "Vorbis comments"
        case .mp4: "MP4"
        case .ape: "APEv2"
        case .matroska: "Matroska"
        case .riff: "RIFF INFO"
        case .asf: "ASF"
        }
    }

    /// Whether it is a version of ID3.
    public var isID3: Bool { self == .id3 || self == .id3v23 }

    /// What stands before a name that users or programs made up; `nil` if the format has a fixed list of names.
    ///
    /// MP4's `----:` stands for `----:com.apple.iTunes:`, the only namespace that players read.
    var customPrefix: String? {
        switch self {
        case .id3, .id3v23: "TXXX:"
        case .mp4: "----:"
        case .vorbis, .ape, .matroska, .asf: ""
        case .riff: nil
        }
    }
}
