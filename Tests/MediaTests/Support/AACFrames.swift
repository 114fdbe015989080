import TestSupport

/// The frames of an ADTS stream, for changes that no available encoder makes.
struct AACFrames {
    private(set) var frames: [[UInt8]] = []

    init(adts bytes: [UInt8]) throws {
        var place = 0
        while place + 7 <= bytes.count {
            let length = Int(bytes[place + 3] & 3) << 11 | Int(bytes[place + 4]) << 3 | Int(bytes[place + 5]) >> 5
            guard length > 7, place + length <= bytes.count else { throw SupportError("read ADTS", "at \(place)") }
            frames.append(Array(bytes[place..<(place + length)]))
            place += length
        }
    }

    var bytes: [UInt8] { frames.flatMap { $0 } }

    /// Inserts a fill element with an encoder's name before all other elements of a frame, which shifts all its bits.
    mutating func sign(_ number: Int, _ name: String) {
        let text = Array(name.utf8) + [0]
        let frame = frames[number]
        var bits = BitString()
        let count = text.count + 3
        bits.append(6, 3)
        if count < 15 {
            bits.append(count, 4)
        } else {
            bits.append(15, 4)
            bits.append(count - 14, 8)
        }
        bits.append(0, 17)
        for byte in text { bits.append(Int(byte), 8) }
        bits.append(0, 7)
        for byte in frame.dropFirst(7) { bits.append(Int(byte), 8) }
        let body = bits.bytes
        var header = Array(frame.prefix(7))
        let length = header.count + body.count
        header[3] = header[3] & 0xFC | UInt8(length >> 11)
        header[4] = UInt8(truncatingIfNeeded: length >> 3)
        header[5] = header[5] & 0x1F | UInt8(truncatingIfNeeded: length << 5)
        frames[number] = header + body
    }

    private struct BitString {
        private var bits: [Bool] = []

        mutating func append(_ number: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(number >> bit & 1 == 1) }
        }

        /// The bits as bytes, with the last byte padded with zeros.
        var bytes: [UInt8] {
            stride(from: 0, to: bits.count, by: 8).map { start in
                (0..<8).reduce(UInt8(0)) { $0 << 1 | (start + $1 < bits.count && bits[start + $1] ? 1 : 0) }
            }
        }
    }
}
