/// Caps the comments of FLAC, and turns the blocks between hidden comments into padding.
extension TagCap {
    /// Blocks without information about the sound. Those between hidden comments may be hidden with them.
    private static let others: Set<UInt8> = [1, 2, FLACBlocks.comments]

    mutating func capFLAC(from start: Int64) {
        guard source.bytes(at: start, count: 4) == Array("fLaC".utf8) else { return }
        var place = start + 4
        // Adjacent hidden blocks, merged into one block of padding.
        var hidden: (place: Int64, end: Int64)?
        func hide(_ isLast: Bool, _ cap: inout TagCap) {
            guard let range = hidden else { return }
            cap.patch(range.place, [isLast ? 0x81 : 1] + bigEndianBytes(range.end - range.place - 4, count: 3))
            hidden = nil
        }
        for _ in 0..<(16 * Self.mostPieces) {
            guard let head = source.bytes(at: place, count: 4), head.count == 4 else { break }
            let (kind, isLast) = (head[0] & 0x7F, head[0] & 0x80 != 0)
            let end = place + 4 + bigEndian(head[1..<4])
            if budget.isSpent, Self.others.contains(kind) {
                if let range = hidden, end - range.place - 4 >= 1 << 24 { hide(false, &self) }
                hidden = (hidden?.place ?? place, end)
            } else {
                hide(false, &self)
                if kind == FLACBlocks.comments, end <= size { capComments(SplicedBytes(source, [(place + 4)..<end])) }
            }
            if isLast {
                hide(true, &self)
                return
            }
            place = end
        }
        hide(false, &self)
    }
}
