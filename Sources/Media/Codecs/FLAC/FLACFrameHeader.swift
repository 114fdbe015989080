/// The header of a FLAC frame: its position and its length.
struct FLACFrameHeader {
    let frames: Int
    /// The frame's sample rate in hertz; `nil` if only the stream header states it.
    let rate: Int?
    /// The frame number, or the number of its first sample if block sizes vary.
    let number: Int64
    let numbersSamples: Bool
    /// Whether the header's checksum matches.
    let isIntact: Bool

    /// `nil` if the bytes do not begin with a frame header.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 9, bytes[0] == 0xFF, bytes[1] & 0xFE == 0xF8 else { return nil }
        numbersSamples = bytes[1] & 1 == 1
        // A variable-length number, coded like UTF-8: the leading ones of the first byte give its length.
        let ones = (~bytes[4]).leadingZeroBitCount
        guard ones != 1, ones < 8, bytes.count >= 4 + max(1, ones) + 4 else { return nil }
        let length = max(1, ones)
        var value = ones == 0 ? Int64(bytes[4]) : Int64(bytes[4]) & (0x7F >> Int64(ones))
        for place in 5..<(4 + length) { value = value << 6 | Int64(bytes[place] & 0x3F) }
        number = value
        var behind = 4 + length
        func word(_ place: Int) -> Int { Int(bytes[place]) << 8 | Int(bytes[place + 1]) }
        switch bytes[2] >> 4 {
        case 1: frames = 192
        case let code where (2...5).contains(code): frames = 144 << Int(code)
        case 6: frames = Int(bytes[behind]) + 1
        case 7: frames = word(behind) + 1
        case let code where code >= 8: frames = 1 << Int(code)
        default: return nil
        }
        behind += bytes[2] >> 4 == 6 ? 1 : bytes[2] >> 4 == 7 ? 2 : 0
        switch bytes[2] & 0x0F {
        case 0: rate = nil
        case 1: rate = 88_200
        case 2: rate = 176_400
        case 3: rate = 192_000
        case 4: rate = 8_000
        case 5: rate = 16_000
        case 6: rate = 22_050
        case 7: rate = 24_000
        case 8: rate = 32_000
        case 9: rate = 44_100
        case 10: rate = 48_000
        case 11: rate = 96_000
        case 12: rate = Int(bytes[behind]) * 1000
        case 13: rate = word(behind)
        case 14: rate = word(behind) * 10
        default: return nil
        }
        switch bytes[2] & 0x0F {
        case 12: behind += 1
        case 13, 14: behind += 2
        default: break
        }
        isIntact = behind < bytes.count && Self.checksum(bytes[..<behind]) == bytes[behind]
    }

    private static func checksum(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt8 {
        var sum: UInt8 = 0
        for byte in bytes {
            sum ^= byte
            for _ in 0..<8 { sum = sum & 0x80 != 0 ? sum << 1 ^ 0x07 : sum << 1 }
        }
        return sum
    }

    /// Whether this frame directly follows `earlier`, with no frame missing between them.
    func follows(_ earlier: FLACFrameHeader) -> Bool {
        // Encoders older than the flag bit also count samples.
        numbersSamples == earlier.numbersSamples
            && (number == earlier.number + Int64(earlier.frames) || !numbersSamples && number == earlier.number + 1)
    }

    /// The position of the frame's first sample. `nil` if the header counts blocks and `blockFrames`,
    /// the frames per block, is zero.
    func start(blockFrames: Int) -> Int64? {
        numbersSamples ? number : blockFrames > 0 ? number * Int64(blockFrames) : nil
    }
}
