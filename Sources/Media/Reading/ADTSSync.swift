/// Recognises raw AAC.
enum ADTSSync {
    /// Whether `source` holds nothing but frames, tags before and behind them not counted.
    static func isStream(_ source: ByteSource) -> Bool {
        guard let size = source.size else { return false }
        var place = TagBlocks.end(in: source, before: size)
        var frames = 0
        // More than libav needs to see by itself.
        while frames < 16, place < size, let head = source.bytes(at: place, count: 7),
            let length = frameLength(head[...])
        {
            place += Int64(length)
            frames += 1
        }
        return frames == 16 || frames > 0 && (place == size || source.bytes(at: place, count: 3) == Array("TAG".utf8))
    }

    /// Bytes of the frame whose header `bytes` begin with.
    private static func frameLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 7 else { return nil }
        let first = bytes.startIndex
        guard bytes[first] == 0xFF, bytes[first + 1] & 0xF6 == 0xF0, bytes[first + 2] >> 2 & 0x0F < 13 else {
            return nil
        }
        let length = Int(bytes[first + 3] & 3) << 11 | Int(bytes[first + 4]) << 3 | Int(bytes[first + 5] >> 5)
        return length > 7 ? length : nil
    }
}
