/// Where a container whose length libav only reckons says that it ends.
enum DeclaredEnd {
    /// Whether an AVI ends before its first list does. A size that was never written tells nothing.
    static func isCutAVI(_ source: ByteSource) -> Bool {
        guard let size = source.size, let head = source.bytes(at: 0, count: 12), head.count == 12 else { return false }
        let stated = bigEndian(head[4..<8].reversed())
        // Some writers leave out the byte that makes the last chunk even.
        return !StreamedHeader.isPlaceholder(stated) && stated + 8 > size + 1
    }

    /// Whether a Creative Voice file ends within a block.
    static func isCutVOC(_ source: ByteSource) -> Bool {
        guard let size = source.size, let head = source.bytes(at: 20, count: 2), head.count == 2 else { return false }
        var place = bigEndian(head.reversed())
        // Blocks hold up to 16 MB; a file of very many small ones has something else in mind.
        for _ in 0..<10_000 where place < size {
            guard let block = source.bytes(at: place, count: 4), block.count == 4, block[0] != 0 else { return false }
            place += 4 + bigEndian(block[1..<4].reversed())
        }
        return place > size
    }
}
