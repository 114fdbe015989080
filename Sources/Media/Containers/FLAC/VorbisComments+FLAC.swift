extension VorbisComments {
    /// The comment block of a FLAC file; `nil` if it has none.
    static func inFLAC(_ source: ByteSource, _ size: Int64) -> SplicedBytes? {
        var place = TagBlocks.end(in: source, before: size)
        guard source.bytes(at: place, count: 4) == Array("fLaC".utf8) else { return nil }
        place += 4
        // There are 127 types of blocks, and few occur twice.
        for _ in 0..<512 {
            guard let head = source.bytes(at: place, count: 4), head.count == 4, place + 4 <= size else { return nil }
            let length = bigEndian(head[1..<4])
            if head[0] & 0x7F == 4 { return SplicedBytes(source, [(place + 4)..<min(size, place + 4 + length)]) }
            if head[0] & 0x80 != 0 { return nil }
            place += 4 + length
        }
        return nil
    }
}
