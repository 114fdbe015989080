/// Tags among the frames of a stream without a container. They are neither sound nor damage.
enum TagBlocks {
    /// Length in bytes of the tag that begins at `place`; `nil` if none does, or if it would extend past `end`.
    static func length(in source: ByteSource, at place: Int64, before end: Int64) -> Int64? {
        guard let head = source.bytes(at: place, count: 32), head.count >= 3 else { return nil }
        if head.starts(with: id3v1) { return min(128, end - place) }
        let length = id3v2Length(head) ?? apeLength(head) ?? lyricsLength(head, in: source, at: place)
        return length.flatMap { $0 <= end - place ? $0 : nil }
    }

    /// Where the tags at the start of a file end. A file of nothing but tags gives `end`.
    static func end(in source: ByteSource, before end: Int64) -> Int64 {
        var place: Int64 = 0
        for _ in 0..<plenty {
            guard place < end, let length = length(in: source, at: place, before: end), length > 0 else { break }
            place += length
        }
        return place
    }

    /// Where the tags at the end of a file begin: ID3v1, Lyrics3 and APE, in any order and number.
    static func soundEnd(of source: ByteSource, size: Int64) -> Int64 {
        var end = size
        for _ in 0..<plenty {
            guard end > 0, let tail = source.bytes(at: max(0, end - 128), count: Int(min(128, end))),
                let length = trailingLength(tail, in: source, end: end), length <= end
            else { break }
            end -= length
        }
        return end
    }

    enum Kind { case id3v1, id3v2, ape, lyrics }

    /// Calls `visit` with the kind and the place of each tag: those at the start, and then those at the end from the last
    /// one on.
    static func each(in source: ByteSource, size: Int64, _ visit: (Kind, Int64) -> Void) {
        var place: Int64 = 0
        for _ in 0..<plenty {
            guard place < size, let length = length(in: source, at: place, before: size), length > 0,
                let head = source.bytes(at: place, count: 8)
            else { break }
            visit(kind(ofHead: head), place)
            place += length
        }
        var end = size
        for _ in 0..<plenty {
            guard end > place, let tail = source.bytes(at: max(place, end - 128), count: Int(min(128, end - place))),
                let (kind, length) = trailing(tail, in: source, end: end), length <= end - place
            else { return }
            visit(kind, end - length)
            end -= length
        }
    }

    private static func kind(ofHead head: [UInt8]) -> Kind {
        if head.starts(with: id3v1) { return .id3v1 }
        return head.starts(with: ape) ? .ape : head.starts(with: Array("ID3".utf8)) ? .id3v2 : .lyrics
    }

    /// The kind and the length of the tag that ends at `end` with `tail`; `nil` if none does.
    private static func trailing(_ tail: [UInt8], in source: ByteSource, end: Int64) -> (Kind, Int64)? {
        if let length = trailingLength(tail, in: source, end: end) {
            if tail.count == 128, tail.starts(with: id3v1) { return (.id3v1, length) }
            return (tail.suffix(32).starts(with: ape) ? .ape : .lyrics, length)
        }
        // A tag of ID3v2.4 at the end has a footer like its header.
        let footer = Array(tail.suffix(10))
        guard footer.count == 10, footer.starts(with: Array("3DI".utf8)), footer[6...9].allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        return (.id3v2, 20 + ID3Number.value(footer[6...9]))
    }

    /// A file with this many tags in a row is hostile.
    private static let plenty = 1_000
    private static let id3v1 = Array("TAG".utf8)
    private static let ape = Array("APETAGEX".utf8)
    private static let lyricsStart = Array("LYRICSBEGIN".utf8)
    private static let lyricsEnd1 = Array("LYRICSEND".utf8)
    private static let lyricsEnd2 = Array("LYRICS200".utf8)

    private static func trailingLength(_ tail: [UInt8], in source: ByteSource, end: Int64) -> Int64? {
        if tail.count == 128, tail.starts(with: id3v1) { return 128 }
        if tail.count >= 32, tail.suffix(32).starts(with: ape) {
            let footer = Array(tail.suffix(32))
            let length = little(footer, 12)
            // The footer includes itself in its size.
            return length >= 32 ? length + (footer[23] & 0x80 != 0 ? 32 : 0) : nil
        }
        if tail.count >= 15, tail.suffix(9).elementsEqual(lyricsEnd2) {
            let digits = tail.suffix(15).prefix(6)
            guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) } + 15
        }
        if tail.suffix(9).elementsEqual(lyricsEnd1) {
            // Version 1 does not state its size, but has to fit into 5,100 bytes.
            let count = min(end, 5_200)
            guard let bytes = source.bytes(at: end - count, count: Int(count)),
                let start = place(of: lyricsStart, in: bytes)
            else { return nil }
            return count - Int64(start)
        }
        return nil
    }

    private static func id3v2Length(_ head: [UInt8]) -> Int64? {
        guard head.count >= 10, head.starts(with: Array("ID3".utf8)), head[3] != 0xFF, head[4] != 0xFF,
            head[6...9].allSatisfy({ $0 < 0x80 })
        else { return nil }
        return 10 + ID3Number.value(head[6...9]) + (head[5] & 0x10 != 0 ? 10 : 0)
    }

    private static func apeLength(_ head: [UInt8]) -> Int64? {
        guard head.count == 32, head.starts(with: ape) else { return nil }
        // The size covers items and footer; a header adds to it. A lone footer ends a tag that began earlier.
        return head[23] & 0x20 != 0 ? 32 + little(head, 12) : 32
    }

    private static func lyricsLength(_ head: [UInt8], in source: ByteSource, at place: Int64) -> Int64? {
        guard head.starts(with: lyricsStart), let bytes = source.bytes(at: place, count: 1 << 16) else { return nil }
        let end = TagBlocks.place(of: lyricsEnd2, in: bytes) ?? TagBlocks.place(of: lyricsEnd1, in: bytes)
        return end.map { Int64($0 + 9) }
    }

    private static func little(_ bytes: [UInt8], _ offset: Int) -> Int64 {
        (0..<4).reduce(0) { $0 | Int64(bytes[offset + $1]) << (8 * $1) }
    }

    private static func place(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (0...(bytes.count - pattern.count)).first {
            bytes[$0] == pattern[0] && bytes[$0..<($0 + pattern.count)].elementsEqual(pattern)
        }
    }
}
