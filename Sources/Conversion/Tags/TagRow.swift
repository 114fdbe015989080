/// One tag of `TagTable`, and its names in all formats.
public struct TagRow: Sendable, Hashable {
    /// The name that MusicBrainz Picard gives it, and Sluice too.
    public let name: String
    /// Its names in each format. The first one is for writing.
    public let names: [TagFormat: [String]]
    /// The tag that states this one behind a slash, as in `3/12`, where this one has no name.
    public let totalOf: String?
    /// What libav calls it in some format, where that is not `name`.
    let libav: [String]

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
