/// Recognises raw AAC.
enum ADTSSync {
    /// Whether `source` holds only ADTS frames, apart from tags before and after them.
    static func isStream(_ source: ByteSource) -> Bool {
        guard let size = source.size else { return false }
        var place = TagBlocks.end(in: source, before: size)
        var frames = 0
        // More frames than libav itself needs to recognise the format.
        while frames < 16, place < size, let head = source.bytes(at: place, count: 7),
            let length = frameLength(head[...])
        {
            place += Int64(length)
            frames += 1
        }
        return frames == 16 || frames > 0 && (place == size || source.bytes(at: place, count: 3) == Array("TAG".utf8))
    }

    /// Length in bytes of the frame whose header starts `bytes`.
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
