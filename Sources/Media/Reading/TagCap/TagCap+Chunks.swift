/// Caps tags in chunks and boxes: hidden ones become a chunk, a box or a list that readers skip.
extension TagCap {
    // MARK: RIFF and IFF

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

    // MARK: CAF and ASF

    /// Pairs of strings after their count.
    mutating func capCAF() {
        var place: Int64 = 8
        for _ in 0..<4096 {
            guard let head = source.bytes(at: place, count: 16), head.count == 16 else { return }
            let length = bigEndian(head[4..<12])
            guard length >= 0, length <= size else { return }
            if head.starts(with: Array("info".utf8)), length >= 4, place + 12 + length <= size {
                let stated = bigEndian(head[12..<16])
                var count: Int64 = 0
                while count < stated, count <= Int64(TagBudget.mostTags), budget.takes() { count += 1 }
                if count < stated { patch(place + 12, bigEndianBytes(count, count: 4)) }
            }
            place += 12 + length
        }
    }

    private static let extended: [UInt8] = [0x40, 0xA4, 0xD0, 0xD2, 0x07, 0xE3, 0xD2, 0x11]
    private static let headerExtension: [UInt8] = [0xB5, 0x03, 0xBF, 0x5F, 0x2E, 0xA9, 0xCF, 0x11]
    private static let metadata: [UInt8] = [0xEA, 0xCB, 0xF8, 0xC5, 0xAF, 0x5B, 0x77, 0x48]
    private static let library: [UInt8] = [0x94, 0x1C, 0x23, 0x44, 0x98, 0x94, 0xD1, 0x49]

    mutating func capASF() { capObjects(30, size) }

    /// Lists of attributes, each after a 16-bit count.
    private mutating func capObjects(_ start: Int64, _ end: Int64) {
        var place = start
        for _ in 0..<4096 {
            guard let head = source.bytes(at: place, count: 26), head.count == 26 else { return }
            let length = littleEndian(head[16..<24])
            guard length >= 24, length <= end - place else { return }
            if [Self.extended, Self.metadata, Self.library].contains(where: { head.starts(with: $0) }) {
                let stated = littleEndian(head[24..<26])
                var count: Int64 = 0
                while count < stated, budget.takes() { count += 1 }
                if count < stated { patch(place + 24, bigEndianBytes(count, count: 2).reversed()) }
            } else if head.starts(with: Self.headerExtension), length >= 46 {
                capObjects(place + 46, place + length)
            }
            place += length
        }
    }

    // MARK: MP4

    private static let folders: Set<String> = ["moov", "trak", "udta", "meta", "ilst"]

    mutating func capMP4() { capBoxes(0..<size, within: "", depth: 0) }

    private mutating func capBoxes(_ range: Range<Int64>, within name: String, depth: Int) {
        let holdsTags = name == "udta" || name == "ilst"
        var place = range.lowerBound
        for _ in 0..<Self.mostPieces {
            guard let box = source.boxHead(at: place, before: range.upperBound), box.size <= range.upperBound - place
            else {
                return
            }
            let isFolder = Self.folders.contains(box.name)
            if holdsTags, !isFolder, !budget.takes() {
                let rest = range.upperBound - place
                if rest < 1 << 32 { patch(place, bigEndianBytes(rest, count: 4) + Array("free".utf8)) }
                return
            }
            if isFolder, depth < 8 {
                // The content of a `meta` follows version and flags, but not in QuickTime.
                let isFull = box.name == "meta" && source.bytes(at: place + box.headBytes, count: 4) == [0, 0, 0, 0]
                let body = place + box.headBytes + (isFull ? 4 : 0)
                if body < place + box.size { capBoxes(body..<(place + box.size), within: box.name, depth: depth + 1) }
            }
            place += box.size
        }
    }
}
