/// One tag of `TagTable`, and its names in all formats.
public struct TagRow: Sendable, Hashable {
    /// The name that MusicBrainz Picard gives it, and Sluice too.
    public let name: String
    /// Its names in each format. The first one is for writing.
    public let names: [TagFormat: [String]]
    /// The tag that states this one behind a slash, as in `3/12`, where this one has no name.
    public let totalOf: String?
    /// What libav calls it in some format, where that is not `name`.
    public let libav: [String]

    /// Its name in formats that take any name and have none of their own for it: that in Vorbis comments.
    public var key: String { names[.vorbis]?.first ?? name }

    /// What libav calls it where it converts names to those of a format.
    public var libavName: String {
        // libav may call another tag so.
        if let known = libav.first(where: { TagTable.row(key: $0)?.name == name }) { return known }
        return Self.namesOfLibAV.contains(name) ? name : key
    }

    /// The names that libav's own are.
    private static let namesOfLibAV: Set<String> = [
        "title", "artist", "album", "composer", "genre", "date", "comment", "copyright", "grouping", "language",
        "lyrics", "compilation", "show",
    ]

    /// A text may hold several names, divided by `|`. Left out, the name in ID3v2.3 is that in ID3v2.4, and those in Vorbis
    /// comments and APEv2 are `name` in capitals.
    init(
        _ name: String,
        totalOf: String? = nil,
        id3: String = "",
        id3v23: String? = nil,
        vorbis: String? = nil,
        mp4: String = "",
        ape: String? = nil,
        matroska: String = "",
        riff: String = "",
        asf: String = "",
        libav: String = ""
    ) {
        let upper = name.uppercased()
        let texts: [(TagFormat, String)] = [
            (.id3, id3), (.id3v23, id3v23 ?? id3), (.vorbis, vorbis ?? upper), (.mp4, mp4), (.ape, ape ?? upper),
            (.matroska, matroska), (.riff, riff), (.asf, asf),
        ]
        self.name = name
        self.totalOf = totalOf
        names = Dictionary(uniqueKeysWithValues: texts.map { ($0, Self.divided($1)) })
        self.libav = Self.divided(libav)
    }

    private static func divided(_ text: String) -> [String] { text.split(separator: "|").map(String.init) }
}
