/// Detects WavPack blocks whose second checksum libav 5.1 computes wrongly.
enum WavPackBlock {
    private static let headerBytes = 32
    private static let int32Info: UInt8 = 0x09

    /// Whether a block of `packet` omits low bits that all its samples share. libav computes the checksum over the
    /// shortened samples, but encoders compute it over the full ones: intact blocks look damaged.
    static func sharesLowBits(_ packet: borrowing Packet) -> Bool {
        packet.withBytes { bytes in
            var start = 0
            while start + headerBytes <= bytes.count {
                let size = little(bytes, at: start + 4, count: 4)
                let end = min(bytes.count, start + 8 + size)
                if sharesLowBits(bytes, from: start + headerBytes, to: end) { return true }
                start = max(end, start + headerBytes)
            }
            return false
        }
    }

    private static func sharesLowBits(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        var place = start
        while place + 2 <= end {
            let id = bytes[place]
            let isLarge = id & 0x80 != 0
            guard place + (isLarge ? 4 : 2) <= end else { return false }
            let words = little(bytes, at: place + 1, count: isLarge ? 3 : 1)
            let body = place + (isLarge ? 4 : 2)
            if id & 0x3F == int32Info, words == 2, body + 4 <= end {
                return bytes[body + 1] | bytes[body + 2] | bytes[body + 3] != 0
            }
            place = body + 2 * words
        }
        return false
    }

    private static func little(_ bytes: UnsafeRawBufferPointer, at place: Int, count: Int) -> Int {
        (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
    }
}
