/// How sources end that promise no length: by a mark, or by a last frame that is whole.
enum SourceEnd {
    /// Whether the last page of an Ogg file ends its stream. Pages are at most 65,307 bytes long.
    static func hasOggEnd(_ source: ByteSource) -> Bool {
        guard let size = source.size else { return true }
        let count = min(size, 65_536)
        let tail = source.bytes(at: size - count, count: Int(count)) ?? []
        let capture = Array("OggS".utf8)
        var place = tail.count - 27
        while place >= 0 {
            if tail[place] == capture[0], tail[place..<(place + 4)].elementsEqual(capture), tail[place + 4] == 0 {
                return tail[place + 5] & 0x04 != 0
            }
            place -= 1
        }
        return false
    }

    /// The position at the end of the first Ogg page with sound, if that page ends the stream as well.
    static func granuleOfOnlyOggPage(_ source: ByteSource) -> Int64? {
        var place: Int64 = 0
        // Headers with a cover of 16 MB take 250 pages.
        for _ in 0..<1000 {
            guard let head = source.bytes(at: place, count: 27 + 255), head.count >= 27,
                head.starts(with: Array("OggS".utf8)), head.count >= 27 + Int(head[26])
            else { return nil }
            let granule = bigEndian(head[6..<14].reversed())
            place += 27 + Int64(head[26]) + head[27..<(27 + Int(head[26]))].reduce(0) { $0 + Int64($1) }
            // Another link of a chain may follow.
            if head[5] & 0x04 != 0 { return granule > 0 && place == source.size ? granule : nil }
            if granule > 0 { return nil }
        }
        return nil
    }

    /// Whether an MPEG audio frame begins behind the last packet and does not end: the file was cut off in it.
    static func hasCutMP3Frame(_ source: ByteSource, behind place: Int64?) -> Bool {
        guard let place, let size = source.size, place < size,
            let head = source.bytes(at: place, count: 4), head.count >= 2
        else { return false }
        return head[0] == 0xFF && head[1] & 0xE0 == 0xE0
    }
}
