/// Caps Vorbis comments in FLAC and Ogg by lowering their count, so that readers skip the hidden ones.
extension TagCap {
    private static let comments: UInt8 = 4
    /// Blocks without information about the sound. Those between hidden comments may be hidden with them.
    private static let others: Set<UInt8> = [1, 2, 4]

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
                if kind == Self.comments, end <= size { capComments(SplicedBytes(source, [(place + 4)..<end])) }
            }
            if isLast {
                hide(true, &self)
                return
            }
            place = end
        }
        hide(false, &self)
    }

    /// The place of the comment count in `block`, and how many comments are shown; `nil` if all are.
    private mutating func shown(_ block: SplicedBytes) -> (place: Int64, count: Int64)? {
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

    private mutating func capComments(_ block: SplicedBytes) {
        defer { budget.endBlock() }
        guard let (place, count) = shown(block) else { return }
        for (piece, bytes) in block.pieces(at: place, of: bigEndianBytes(count, count: 4).reversed()) {
            patch(piece, bytes)
        }
    }

    /// Also recomputes the checksum of each page that changes.
    mutating func capOgg() {
        guard let block = VorbisComments.inOgg(source, size), let (place, count) = shown(block) else { return }
        let changes = block.pieces(at: place, of: bigEndianBytes(count, count: 4).reversed())
        for (change, bytes) in changes { patch(change, bytes) }
        var page: Int64 = 0
        var left = Set(changes.map(\.place))
        for _ in 0..<512 where !left.isEmpty {
            guard let head = source.bytes(at: page, count: 282), head.count >= 27, head.count >= 27 + Int(head[26])
            else {
                return
            }
            let lacing = head[27..<(27 + Int(head[26]))]
            let end = page + Int64(27 + lacing.count) + lacing.reduce(0) { $0 + Int64($1) }
            let here = left.filter { (page..<end).contains($0) }
            if !here.isEmpty, var bytes = source.bytes(at: page, count: Int(end - page)),
                Int64(bytes.count) == end - page
            {
                bytes.withUnsafeMutableBufferPointer { buffer in
                    for patch in patches { patch.apply(to: buffer, at: page) }
                }
                patch(page + 22, OggPages.checksum(of: bytes))
                left.subtract(here)
            }
            page = end
        }
    }
}
