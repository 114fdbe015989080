/// Caps the comments of Ogg.
extension TagCap {
    /// Also recomputes the checksum of each page that changes.
    mutating func capOgg() {
        guard let block = VorbisComments.inOgg(source, size), let (place, count) = shownComments(block) else { return }
        let changes = block.pieces(at: place, of: bigEndianBytes(count, count: 4).reversed())
        for (change, bytes) in changes { patch(change, bytes) }
        var page: Int64 = 0
        var left = Set(changes.map(\.place))
        for _ in 0..<OggPages.mostOfHeaders where !left.isEmpty {
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
