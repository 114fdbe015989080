/// The text frames of an ID3v2 tag. A frame may hold several values, and TXXX frames may share a name.
enum ID3Frames {
    /// Counts the values in the tag at `place`, if there is one.
    static func count(in source: ByteSource, at place: Int64, into values: inout TagValues) {
        guard let head = source.bytes(at: place, count: 10), head.count == 10, head.starts(with: Array("ID3".utf8)),
            (2...4).contains(head[3])
        else { return }
        let version = head[3]
        let isUnsynchronised = head[5] & 0x80 != 0
        let end = place + 10 + syncsafe(head[6..<10])
        var next = place + 10
        if head[5] & 0x40 != 0, version > 2, let extended = source.bytes(at: next, count: 4), extended.count == 4 {
            next += version == 4 ? syncsafe(extended) : 4 + bigEndian(extended)
        }
        var left = TagValues.mostTextBytes
        for _ in 0..<TagValues.mostValues where left > 0 {
            let headBytes: Int64 = version == 2 ? 6 : 10
            guard next + headBytes <= end, let frame = source.bytes(at: next, count: Int(headBytes)),
                frame.count == Int(headBytes), frame[0] != 0
            else { return }
            let size: Int64
            switch version {
            case 2: size = bigEndian(frame[3..<6])
            case 3: size = bigEndian(frame[4..<8])
            default: size = syncsafe(frame[4..<8])
            }
            guard size <= end - next - headBytes else { return }
            let name = String(decoding: frame[..<(version == 2 ? 3 : 4)], as: UTF8.self)
            if name.hasPrefix("T") { left -= size }
            if name.hasPrefix("T"), size > 1, size <= longestText,
                var text = source.bytes(at: next + headBytes, count: Int(size)), text.count == Int(size)
            {
                if isUnsynchronised || version == 4 && frame[9] & 2 != 0 { text = resynchronised(text) }
                if version == 4, frame[9] & 1 != 0 { text = Array(text.dropFirst(4)) }
                count(text, of: name, into: &values)
            }
            next += headBytes + size
        }
    }

    /// Counts the values in the `id3 ` chunk of a WAV, W64 or AIFF file.
    static func countInChunks(of source: ByteSource, _ size: Int64, isBig: Bool, into values: inout TagValues) {
        if let tag = inChunks(source, size, isBig: isBig) { count(in: source, at: tag, into: &values) }
    }

    /// The content of the `id3 ` chunk; `nil` if there is none.
    private static func inChunks(_ source: ByteSource, _ size: Int64, isBig: Bool) -> Int64? {
        var place: Int64 = 12
        for _ in 0..<4096 {
            guard let head = source.bytes(at: place, count: 8), head.count == 8 else { return nil }
            let length = isBig ? bigEndian(head[4..<8]) : littleEndian(head[4..<8])
            if ["id3 ", "ID3 "].contains(String(decoding: head[0..<4], as: UTF8.self)) { return place + 8 }
            place += 8 + length + length % 2
            guard place < size else { return nil }
        }
        return nil
    }

    /// Longer texts are lyrics or garbage, not lists of values.
    private static let longestText: Int64 = 1 << 20

    private static func count(_ text: [UInt8], of name: String, into values: inout TagValues) {
        guard let encoding = text.first else { return }
        var parts = split(text.dropFirst(), isWide: encoding == 1 || encoding == 2)
        guard name == "TXXX" || name == "TXX" else {
            return values.add(TagValues.common[name] ?? name, values: parts.count { !$0.isEmpty })
        }
        guard parts.count > 1 else { return }
        let description = String(decoding: parts.removeFirst().filter { $0 != 0 && $0 < 0x80 }, as: UTF8.self)
        values.add(description, values: parts.count { !$0.isEmpty })
    }

    /// Splits a text at its NULs and removes byte order marks.
    private static func split(_ text: ArraySlice<UInt8>, isWide: Bool) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        let unit = isWide ? 2 : 1
        var place = text.startIndex
        while place + unit <= text.endIndex {
            let piece = text[place..<(place + unit)]
            if piece.allSatisfy({ $0 == 0 }) {
                parts.append([])
            } else if !isWide || !piece.elementsEqual([0xFF, 0xFE]) && !piece.elementsEqual([0xFE, 0xFF]) {
                parts[parts.count - 1] += piece
            }
            place += unit
        }
        return parts
    }

    private static func syncsafe(_ bytes: some Collection<UInt8>) -> Int64 {
        bytes.reduce(0) { $0 << 7 | Int64($1 & 0x7F) }
    }

    /// Reverses unsynchronisation: removes the zeros that keep players from taking tag bytes for sound.
    private static func resynchronised(_ bytes: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        for byte in bytes where byte != 0 || plain.last != 0xFF { plain.append(byte) }
        return plain
    }
}

extension TagValues {
    /// The common names of ID3 frames.
    static let common = [
        "TIT2": "title", "TPE1": "artist", "TALB": "album", "TPE2": "album_artist", "TCOM": "composer",
        "TCON": "genre", "TRCK": "track", "TPOS": "disc", "TDRC": "date", "TYER": "date", "TCOP": "copyright",
        "TLAN": "language", "TPUB": "publisher", "TT2": "title", "TP1": "artist", "TAL": "album", "TCO": "genre",
    ]
}
