/// Caps the items of MP4: hidden ones become a free box.
extension TagCap {
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
