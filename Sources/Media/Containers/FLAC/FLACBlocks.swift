/// The metadata blocks in front of the sound of FLAC.
enum FLACBlocks {
    static let comments: UInt8 = 4
    static let cueSheet: UInt8 = 5

    /// There are 127 kinds of blocks, and few occur twice.
    private static let most = 512

    /// Where the content of the first block of a kind is, as the block states it; `nil` if there is none. `size` is that of
    /// the source, as far as it is known.
    static func first(_ kind: UInt8, in source: ByteSource, _ size: Int64) -> Range<Int64>? {
        var found: Range<Int64>?
        each(in: source, size) { other, content in
            if other == kind { found = content }
            return found == nil
        }
        return found
    }

    /// Calls `visit` with the kind of each block, and where its content is, until it returns `false`.
    static func each(in source: ByteSource, _ size: Int64, _ visit: (UInt8, Range<Int64>) -> Bool) {
        var place = TagBlocks.end(in: source, before: size)
        guard source.bytes(at: place, count: 4) == Array("fLaC".utf8) else { return }
        place += 4
        for _ in 0..<most {
            guard let head = source.bytes(at: place, count: 4), head.count == 4 else { return }
            let content = (place + 4)..<(place + 4 + bigEndian(head[1..<4]))
            guard visit(head[0] & 0x7F, content), head[0] & 0x80 == 0 else { return }
            place = content.upperBound
        }
    }
}
