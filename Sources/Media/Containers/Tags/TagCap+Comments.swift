/// Caps Vorbis comments by lowering their count, so that readers skip the hidden ones.
extension TagCap {
    /// The place of the comment count in `block`, and how many comments are shown; `nil` if all are.
    mutating func shownComments(_ block: SplicedBytes) -> (place: Int64, count: Int64)? {
        guard let vendor = block.bytes(at: 0, count: 4), vendor.count == 4 else { return nil }
        let start = 4 + littleEndian(vendor)
        guard let number = block.bytes(at: start, count: 4), number.count == 4 else { return nil }
        var place = start + 4
        let stated = littleEndian(number)
        var count: Int64 = 0
        while count < stated {
            guard let head = block.bytes(at: place, count: 4 + 64), head.count > 4 else { return nil }
            let length = littleEndian(head[0..<4])
            guard length <= block.count - place - 4 else { return nil }
            let name = head.dropFirst(4).prefix(Int(min(length, 64))).prefix { $0 != 0x3D }
            guard budget.takes(String(decoding: name, as: UTF8.self).lowercased(), bytes: length) else {
                return (start, count)
            }
            place += 4 + length
            count += 1
        }
        return nil
    }

    mutating func capComments(_ block: SplicedBytes) {
        defer { budget.endBlock() }
        guard let (place, count) = shownComments(block) else { return }
        for (piece, bytes) in block.pieces(at: place, of: bigEndianBytes(count, count: 4).reversed()) {
            patch(piece, bytes)
        }
    }
}
