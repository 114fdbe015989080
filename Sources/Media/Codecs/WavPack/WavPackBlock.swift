/// WavPack blocks that libav 5.1 reads wrong: those whose second checksum it computes wrongly, and those that name no
/// speakers.
enum WavPackBlock {
    private static let headerBytes = 32
    private static let int32Info: UInt8 = 0x09
    private static let channelInfo: UInt8 = 0x0D
    /// Marks data of which the last byte does not count.
    private static let isOdd: UInt8 = 0x40

    /// Whether a block of a packet omits low bits that all its samples share. libav computes the checksum over the
    /// shortened samples, but encoders compute it over the full ones: intact blocks look damaged.
    static func sharesLowBits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        while start + headerBytes <= bytes.count {
            let size = little(bytes, at: start + 4, count: 4)
            let end = min(bytes.count, start + 8 + size)
            if sharesLowBits(bytes, from: start + headerBytes, to: end) { return true }
            start = max(end, start + headerBytes)
        }
        return false
    }

    private static func sharesLowBits(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        guard let (_, body, words) = data(int32Info, in: bytes, from: start, to: end), words == 2 else { return false }
        return bytes[body + 1] | bytes[body + 2] | bytes[body + 3] != 0
    }

    /// The first data of this kind between `start` and `end`: where it and its content begin, and its 16-bit words.
    private static func data(_ kind: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int)
        -> (place: Int, body: Int, words: Int)?
    {
        var place = start
        while place + 2 <= end {
            let id = bytes[place]
            let isLarge = id & 0x80 != 0
            guard place + (isLarge ? 4 : 2) <= end else { return nil }
            let words = little(bytes, at: place + 1, count: isLarge ? 3 : 1)
            let body = place + (isLarge ? 4 : 2)
            if id & 0x3F == kind, body + 2 * words <= end { return (place, body, words) }
            place = body + 2 * words
        }
        return nil
    }

    /// What libav must see in a block that states the number of its channels, up to eight, and no speakers or more or fewer
    /// of them: those of mono and stereo, or any, which are then forgotten. `nil` for other blocks. WavPack makes such
    /// blocks of WAV files with such a channel mask.
    static func naming(_ block: UnsafeRawBufferPointer) -> (place: Int, bytes: [UInt8])? {
        guard block.count >= headerBytes, block.starts(with: Array("wvpk".utf8)),
            case let end = min(block.count, 8 + little(block, at: 4, count: 4)),
            let (place, body, words) = data(channelInfo, in: block, from: headerBytes, to: end),
            (1...2).contains(words), case let count = block[body], (1...8).contains(count)
        else { return nil }
        let isShort = block[place] & isOdd != 0
        let mask = block[(body + 1)..<(body + 2 * words - (isShort ? 1 : 0))]
        guard mask.reduce(0, { $0 + $1.nonzeroBitCount }) != Int(count) else { return nil }
        let speakers: UInt8 = count == 1 ? 0x04 : UInt8.max >> (8 - count)
        let id = words == 1 ? block[place] & ~isOdd : block[place]
        return (place, [id, UInt8(words), count, speakers] + [UInt8](repeating: 0, count: 2 * words - 2))
    }

    private static func little(_ bytes: UnsafeRawBufferPointer, at place: Int, count: Int) -> Int {
        (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
    }
}
