/// What pictures show, by the numbers of ID3, FLAC and Ogg. Other formats have names.
enum PictureKind {
    static let frontCover: UInt8 = 3

    /// The kind that libav tells beside a picture. Without a word it is a cover.
    static func of(_ tags: [(String, String)]) -> UInt8 {
        for (key, value) in tags {
            // APE has the kind in the name of the item, of which libav tells the name of a file. A number may follow it.
            let key = key.lowercased()
            if let kind = apeItems.firstIndex(where: { key.hasPrefix($0.lowercased()) }) { return UInt8(kind) }
            if key == "filename", let kind = kind(ofFile: value) { return kind }
            guard key == "comment" else { continue }
            if let kind = names.firstIndex(of: value) { return UInt8(kind) }
        }
        return frontCover
    }

    /// The pictures with a front cover first, if there is one, for a container that states no kinds.
    static func frontFirst(_ pictures: [Picture]) -> [Picture] {
        guard let front = pictures.firstIndex(where: { $0.kind == frontCover }) else { return pictures }
        return [pictures[front]] + pictures[..<front] + pictures[(front + 1)...]
    }

    /// libav's name of a kind.
    static func name(_ kind: UInt8) -> String { names[names.indices.contains(Int(kind)) ? Int(kind) : 0] }

    /// The name of the APE item with a picture of this kind.
    static func apeItem(_ kind: UInt8) -> String { apeItems[apeItems.indices.contains(Int(kind)) ? Int(kind) : 0] }

    private static let names: [String] = [
        "Other", "32x32 pixels 'file icon'", "Other file icon", "Cover (front)", "Cover (back)", "Leaflet page",
        "Media (e.g. label side of CD)", "Lead artist/lead performer/soloist", "Artist/performer", "Conductor",
        "Band/Orchestra", "Composer", "Lyricist/text writer", "Recording Location", "During recording",
        "During performance", "Movie/video screen capture", "A bright coloured fish", "Illustration",
        "Band/artist logotype", "Publisher/Studio logotype",
    ]

    /// The name of a file with a picture of this kind, without its extension, where a container keeps names of files and no
    /// kinds: `back`. Players look for `cover`: without a front cover it is the first picture, if it says nothing else. Pictures
    /// count from 1.
    static func fileName(_ kind: UInt8, number: Int) -> String {
        if kind == frontCover || kind == 0 && number == 1 { return number == 1 ? "cover" : "picture\(number)" }
        let word = words[words.indices.contains(Int(kind)) ? Int(kind) : 0].lowercased()
        return number == 1 ? word : "\(word) \(number)"
    }

    /// The kind of a picture in a file of such a name; `nil` if that says nothing.
    private static func kind(ofFile name: String) -> UInt8? {
        let stem = name.lowercased().split(separator: ".", omittingEmptySubsequences: false).first ?? ""
        var parts = stem.split(separator: " ")
        if parts.count > 1, Int(parts[parts.count - 1]) != nil { parts.removeLast() }
        let word = parts.joined(separator: " ")
        return words.firstIndex { $0.lowercased() == word }.map { UInt8($0) }
    }

    private static let apeItems: [String] = words.map { "Cover Art (\($0))" }

    private static let words: [String] = [
        "Other", "Icon", "Other Icon", "Front", "Back", "Leaflet", "Media", "Lead Artist", "Artist", "Conductor",
        "Band", "Composer", "Lyricist", "Recording Location", "During Recording", "During Performance",
        "Video Capture", "Fish", "Illustration", "Band Logotype", "Publisher Logotype",
    ]
}

extension Picture {
    /// What it shows, in ID3's words: `Cover (back)`.
    public var kindName: String { PictureKind.name(kind) }

    /// The picture of a stream that shows one; `nil` for others, and for anything but PNG and JPEG.
    init?(_ stream: InputStream) {
        guard let bytes = stream.attachedPicture, var picture = Picture(bytes) else { return nil }
        let tags = stream.tags
        picture.kind = PictureKind.of(tags)
        picture.text = tags.first { $0.0.lowercased() == "title" }?.1 ?? ""
        self = picture
    }
}
