/// Caps tags in the chunks of RIFF and IFF: hidden ones become a chunk that readers skip.
extension TagCap {
    mutating func capChunks(isBig: Bool) {
        var place: Int64 = 12
        var hidden: (place: Int64, end: Int64)?
        func hide(_ cap: inout TagCap) {
            if let range = hidden { cap.junk(range.place, range.end) }
            hidden = nil
        }
        for _ in 0..<Self.mostPieces {
            guard let head = source.bytes(at: place, count: 12), head.count >= 8 else { break }
            let length = isBig ? bigEndian(head[4..<8]) : littleEndian(head[4..<8])
            let end = place + 8 + length + length & 1
            guard end <= size else { break }
            let name = String(decoding: head[0..<4], as: UTF8.self)
            let isList = !isBig && name == "LIST" && head.dropFirst(8).elementsEqual("INFO".utf8)
            if isList, budget.isSpent, end - (hidden?.place ?? place) < 1 << 31 {
                hidden = (hidden?.place ?? place, end)
            } else {
                hide(&self)
                if isList { capList(place, end) }
                if ["id3 ", "ID3 "].contains(name) { capID3(at: place + 8) }
            }
            place = end
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
