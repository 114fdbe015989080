import Conversion

/// The tags around a stream of frames, beside the one that is read.
extension UnreadParts {
    /// Adds the tags at both ends, apart from an ID3v2 tag at the very start. `keepsAPE` is set if an APE tag at the end is
    /// read, too.
    mutating func addTagBlocks(in source: ByteSource, _ size: Int64, keepsAPE: Bool = false) {
        var hasAPE = !keepsAPE
        TagBlocks.each(in: source, size: size) { kind, place in
            switch kind {
            case .id3v2: if place > 0 { add("second ID3 tag") }
            case .ape:
                if hasAPE { add("APE tag") }
                hasAPE = true
            case .lyrics: add("Lyrics3 tag")
            case .id3v1: addFields(of: source.bytes(at: place, count: 128) ?? [])
            }
        }
    }

    /// Adds the fields of an ID3v1 tag that only this tag has.
    private mutating func addFields(of tag: [UInt8]) {
        guard tag.count == 128 else { return }
        let hasNumber = tag[125] == 0 && tag[126] != 0
        let fields: [(name: String, place: Range<Int>)] = [
            ("title", 3..<33), ("artist", 33..<63), ("album", 63..<93), ("date", 93..<97),
            ("comment", 97..<(hasNumber ? 125 : 127)),
        ]
        for (name, place) in fields where tag[place].contains(where: { $0 != 0 && $0 != 0x20 }) { addField(name) }
        if hasNumber { addField("tracknumber") }
        // 12 stands for other music, and numbers behind the table for none.
        if tag[127] != 12, !ID3Genres.names(["\(tag[127])"]).contains("\(tag[127])") { addField("genre") }
    }

    private mutating func addField(_ name: String) {
        if !keeps(tag: name) { add("\(name) of the ID3v1 tag") }
    }
}
