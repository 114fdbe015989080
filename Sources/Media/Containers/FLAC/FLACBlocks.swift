/// The metadata blocks in front of the sound of FLAC.
enum FLACBlocks {
    static let comments: UInt8 = 4
    static let cueSheet: UInt8 = 5

    /// There are 127 kinds of blocks, and few occur twice.
    private static let most = 512

    /// Where the content of the first block of a kind is, as the block states it; `nil` if there is none. `size` is that of
    /// the source, as far as it is known.
    static func first(_ kind: UInt8, in source: ByteSource, _ size: Int64) -> Range<Int64>? {
        var place = TagBlocks.end(in: source, before: size)
        guard source.bytes(at: place, count: 4) == Array("fLaC".utf8) else { return nil }
        place += 4
        for _ in 0..<most {
            guard let head = source.bytes(at: place, count: 4), head.count == 4 else { return nil }
            let content = (place + 4)..<(place + 4 + bigEndian(head[1..<4]))
            if head[0] & 0x7F == kind { return content }
            if head[0] & 0x80 != 0 { return nil }
            place = content.upperBound
        }
        return nil
    }
}
