import Conversion

/// The fields of an ID3v1 tag: 128 bytes at the end of a file.
enum ID3v1Tag {
    /// The tags that only the ID3v1 tag of a source has, beside `tags`: its fields are cut after 30 letters, so all others
    /// are better.
    static func tags(in source: ByteSource, _ size: Int64, besides tags: [Tag]) -> [Tag] {
        var found: [Tag] = []
        var known = Set(tags.map { TagTable.commonName(ofKey: $0.key) })
        TagBlocks.each(in: source, size: size) { kind, place in
            guard kind == .id3v1, let bytes = source.bytes(at: place, count: 128) else { return }
            for (key, value) in fields(of: bytes) where known.insert(TagTable.commonName(ofKey: key)).inserted {
                found.append(Tag(key: key, value: value))
            }
        }
        return found
    }

    /// The fields that are not empty, under libav's names.
    private static func fields(of tag: [UInt8]) -> [(key: String, value: String)] {
        guard tag.count == 128 else { return [] }
        // In the last two bytes of the comment, version 1.1 has a zero and the number of the track.
        let hasNumber = tag[125] == 0 && tag[126] != 0
        let places: [(key: String, place: Range<Int>)] = [
            ("title", 3..<33), ("artist", 33..<63), ("album", 63..<93), ("date", 93..<97),
            ("comment", 97..<(hasNumber ? 125 : 127)),
        ]
        var fields = places.map { (key: $0.key, value: text(tag[$0.place])) }
        if hasNumber { fields.append(("track", "\(tag[126])")) }
        // 12 stands for other music. 0 is Blues, and what programs write that know none. The table ends before 255.
        let genre = "\(tag[127])"
        let name = ID3Genres.names([genre]).first ?? genre
        if tag[127] != 0, tag[127] != 12, name != genre { fields.append(("genre", name)) }
        return fields.filter { !$0.value.isEmpty && !($0.key == "date" && $0.value == "0000") }
    }

    /// UTF-8, as some programs write, or else ISO 8859-1.
    private static func text(_ field: ArraySlice<UInt8>) -> String {
        var bytes = field.prefix { $0 != 0 }
        let isFull = bytes.count == field.count
        while bytes.last == 0x20 { bytes.removeLast() }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        // A full field may end within a letter, which has up to four bytes. Without other letters beyond ASCII, it is more
        // likely one of ISO 8859-1.
        for cut in 1...3 where isFull {
            let whole = bytes.dropLast(cut)
            guard whole.contains(where: { $0 >= 0x80 }) else { break }
            if let text = String(validating: whole, as: UTF8.self) { return text }
        }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension Demuxer {
    /// The tags that only an ID3v1 tag has; none of a pipe.
    func tagsOfID3v1(besides tags: [Tag]) -> [Tag] {
        guard rules.hasTagBlocks, source.isSeekable, let size = source.size else { return [] }
        return source.readingAhead { ID3v1Tag.tags(in: source, size, besides: tags) }
    }
}
