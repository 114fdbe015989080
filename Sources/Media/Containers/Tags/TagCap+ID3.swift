/// Caps ID3v2 tags by turning hidden frames into padding, and APE tags by lowering their item count.
extension TagCap {
    /// Caps the consecutive ID3v2 tags that begin at `start`. Returns where they end.
    @discardableResult
    mutating func capID3(at start: Int64) -> Int64 {
        var place = start
        var hidden: Int64?
        for _ in 0..<Self.mostPieces {
            guard let head = source.bytes(at: place, count: 10), head.count == 10, head.starts(with: Array("ID3".utf8)),
                head[6...9].allSatisfy({ $0 < 0x80 })
            else { break }
            let end = place + 10 + ID3Number.value(head[6...9]) + (head[5] & 0x10 != 0 ? 10 : 0)
            guard end <= size else { break }
            if budget.isSpent {
                hidden = hidden ?? place
            } else {
                capFrames(head, place + 10, end)
                budget.endBlock()
            }
            place = end
        }
        // All tags after the last one shown become a single empty tag, unless they are too long for one.
        if let hidden, place - hidden - 10 < 1 << 28, place - hidden >= 20 {
            let length = place - hidden - 10
            patch(hidden + 5, [0] + ID3Number.bytes(Int(length)) + [UInt8](repeating: 0, count: 10))
        }
        return place
    }

    private mutating func capFrames(_ head: [UInt8], _ start: Int64, _ end: Int64) {
        let version = head[3]
        guard (2...4).contains(version) else { return }
        var next = start
        if head[5] & 0x40 != 0, version > 2, let extended = source.bytes(at: next, count: 4), extended.count == 4 {
            next += version == 4 ? ID3Number.value(extended) : 4 + bigEndian(extended)
        }
        let headBytes: Int64 = version == 2 ? 6 : 10
        for _ in 0..<Self.mostPieces {
            guard next + headBytes <= end, let frame = source.bytes(at: next, count: Int(headBytes)),
                frame.count == Int(headBytes), frame[0] != 0
            else { return }
            let content = next + headBytes
            let length = ID3Number.sizeOfFrame(frame, version: version, at: content, before: end) {
                source.bytes(at: $0, count: $1)
            }
            guard length <= end - content else { return }
            guard budget.takes() else { return patch(next, [UInt8](repeating: 0, count: Int(headBytes))) }
            next = content + length
        }
    }

    /// The APE tag at the end, with or without an ID3v1 tag after it.
    mutating func capAPE() {
        guard let (items, number, footer) = APEItems.items(in: source, size) else { return }
        var (place, count) = (items.lowerBound, Int64(0))
        while count < number, count <= Int64(TagBudget.mostTags) {
            guard let head = source.bytes(at: place, count: 8 + TagCollector.longestName), head.count > 8 else {
                return
            }
            let name = head.dropFirst(8).prefix { $0 != 0 }
            guard budget.takes() else { return patch(footer + 16, bigEndianBytes(count, count: 4).reversed()) }
            place += 8 + Int64(name.count) + 1 + littleEndian(head[0..<4])
            count += 1
        }
    }
}
