/// Caps tags in the chunks of RIFF and IFF: hidden ones become a chunk that readers skip.
extension TagCap {
    mutating func capChunks(_ chunks: Chunks) {
        var hidden: (place: Int64, end: Int64)?
        func hide(_ cap: inout TagCap) {
            if let range = hidden { cap.junk(range.place, range.end) }
            hidden = nil
        }
        chunks.each(in: source, most: Self.mostPieces) { name, content, length in
            let (place, end) = (content - 8, content + length + length & 1)
            // The sound of RF64 ends elsewhere.
            guard end <= size || name.elementsEqual("data".utf8) else { return false }
            let isList =
                !chunks.sizesAreBig && name.elementsEqual("LIST".utf8)
                && source.bytes(at: content, count: 4) == Array("INFO".utf8)
            if isList, budget.isSpent, end - (hidden?.place ?? place) < 1 << 31 {
                hidden = (hidden?.place ?? place, end)
            } else {
                hide(&self)
                if isList { capList(place, end) }
                if ID3Frames.isChunk(name) { capID3(at: content) }
            }
            return true
        }
        hide(&self)
    }

    private mutating func capList(_ start: Int64, _ end: Int64) {
        var place = start + 12
        for _ in 0..<Self.mostPieces {
            guard end - place >= 8, let head = source.bytes(at: place, count: 8), head.count == 8 else { return }
            let length = littleEndian(head[4..<8])
            guard length <= end - place - 8 else { return }
            guard budget.takes() else {
                patch(start + 4, bigEndianBytes(place - start - 8, count: 4).reversed())
                return junk(place, end)
            }
            place += 8 + length + length & 1
        }
    }

    private mutating func junk(_ place: Int64, _ end: Int64) {
        patch(place, Array("JUNK".utf8) + bigEndianBytes(end - place - 8, count: 4).reversed())
    }
}
