/// Caps the strings of CAF by lowering their count.
extension TagCap {
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
}
