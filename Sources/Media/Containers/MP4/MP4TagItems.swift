import Conversion

/// The tags of an MP4 output: those that libav writes, and items for the others.
struct MP4TagItems {
    /// The tags under the names by which libav knows their items.
    private(set) var forLibAV: [Tag] = []
    /// The items that libav cannot write: freeform items, several texts, and some numbers.
    private(set) var items: [UInt8] = []

    init(_ tags: [Tag]) {
        for text in NativeTags(tags, in: .mp4).texts {
            if text.name.hasPrefix(Self.freeformPrefix) {
                addFreeform(String(text.name.dropFirst(Self.freeformPrefix.count)), text.values)
            } else {
                addItem(text.name, text.values)
            }
        }
    }

    /// Whether several values of a tag stay apart. Items of numbers hold one.
    static func keepsValues(of name: String) -> Bool {
        guard let row = TagTable.row(key: name) else { return !namesOfLibAV.contains(name.lowercased()) }
        guard let item = row.names[.mp4]?.first else { return true }
        return !numbers.contains(item)
    }

    private static let freeformPrefix = "----:"

    private mutating func addFreeform(_ name: String, _ values: [String]) {
        // libav has items for a few tags that the table does not have.
        if Self.namesOfLibAV.contains(name.lowercased()) {
            forLibAV.append(Tag(key: name, values: values))
        } else {
            items += Self.freeform(name, values)
        }
    }

    private mutating func addItem(_ name: String, _ values: [String]) {
        guard let row = TagTable.name(of: name, in: .mp4).rowName.flatMap({ TagTable.row($0) }) else { return }
        let isNumber = Self.numbers.contains(name)
        let known = (row.libav + [row.name]).first { Self.namesOfLibAV.contains($0) }
        if let total = Self.totalAlone(values, in: name) {
            items += MP4Patch.box(name, MP4Patch.box("data", Self.none + Self.none + total))
        } else if let known, isNumber || values.count == 1 {
            forLibAV.append(Tag(key: known, values: values))
        } else if !isNumber {
            items += MP4Patch.box(name, Self.data(values))
        } else if let bytes = Self.bytesOfNumbers[name], let number = Self.number(values, bytes: bytes) {
            let kind: [UInt8] = [0, 0, 0, 21, 0, 0, 0, 0]
            items += MP4Patch.box(name, MP4Patch.box("data", kind + number))
        } else {
            // A number that its item cannot hold, such as 128.5 beats per minute.
            items += Self.freeform(row.key, values)
        }
    }

    /// A whole number in so many bytes; `nil` if it does not fit, and for several.
    private static func number(_ values: [String], bytes: Int) -> [UInt8]? {
        let limit: Int64 = 1 << Int64(8 * bytes - 1)
        guard values.count == 1, let number = Int64(values[0]), number >= 0, number < limit else { return nil }
        return bigEndianBytes(number, count: bytes)
    }

    /// The bytes of a total without a number, as in `/12`, which libav does not write; `nil` for other values.
    private static func totalAlone(_ values: [String], in item: String) -> [UInt8]? {
        guard item == "trkn" || item == "disk", values.count == 1, values[0].hasPrefix("/"),
            let total = UInt16(values[0].dropFirst())
        else { return nil }
        let end: [UInt8] = item == "trkn" ? [0, 0] : []
        return none + bigEndianBytes(Int64(total), count: 2) + end
    }

    /// The items that hold numbers.
    private static let numbers: Set<String> = [
        "trkn", "disk", "cpil", "pgap", "tmpo", "pcst", "shwm", "©mvi", "©mvc",
    ]
    /// Those that libav does not write, and the bytes of their numbers.
    private static let bytesOfNumbers: [String: Int] = ["tmpo": 2, "pcst": 1, "shwm": 1, "©mvi": 2, "©mvc": 2]

    /// The tags for which libav has items.
    private static let namesOfLibAV: Set<String> = [
        "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
        "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "track", "disc",
        "compilation", "episode_sort", "season_number", "media_type", "hd_video", "gapless_playback", "sort_name",
        "sort_artist", "sort_album", "sort_album_artist", "sort_composer", "sort_show",
    ]

    // MARK: Bytes

    private static let none: [UInt8] = [0, 0, 0, 0]

    /// A `----` item: the namespace, the name, and the texts.
    static func freeform(_ name: String, _ texts: [String]) -> [UInt8] {
        let space = MP4Patch.box("mean", none + Array("com.apple.iTunes".utf8))
        let own = MP4Patch.box("name", none + Array(name.utf8))
        return MP4Patch.box("----", space + own + data(texts))
    }

    /// The texts of an item, each in a box.
    private static func data(_ texts: [String]) -> [UInt8] {
        let kind: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0]
        return texts.flatMap { MP4Patch.box("data", kind + Array($0.utf8)) }
    }
}
