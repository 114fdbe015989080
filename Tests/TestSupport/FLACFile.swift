/// Writes uncompressed FLAC sample by sample, at any depth from 4 to 24 bits, with changes that no encoder makes.
public struct FLACFile: Sendable {
    /// The file as far as it is written.
    public private(set) var bytes: [UInt8]
    private var frameNumber = 0
    private let blockFrames: Int
    private let numbersBlocks: Bool

    /// Starts a stream whose header states these values. All blocks get the number zero without `numbersBlocks`.
    public init(
        rate: Int,
        channels: Int,
        bits: Int,
        frames: Int,
        blockFrames: Int = 1024,
        numbersBlocks: Bool = true
    ) {
        self.blockFrames = blockFrames
        self.numbersBlocks = numbersBlocks
        bytes = Array("fLaC".utf8) + [0x80, 0, 0, 34]
        bytes.append(big: UInt16(blockFrames))
        bytes.append(big: UInt16(blockFrames))
        bytes += [UInt8](repeating: 0, count: 6)
        bytes.append(
            big: UInt64(rate) << 44 | UInt64(channels - 1) << 41 | UInt64(bits - 1) << 36 | UInt64(frames)
        )
        bytes += [UInt8](repeating: 0, count: 16)
    }

    /// Appends samples, one array per channel, in blocks that state their own rate and depth.
    public mutating func append(_ channels: [[Int32]], rate: Int, bits: Int) {
        let frames = channels[0].count
        for start in stride(from: 0, to: frames, by: blockFrames) {
            append(channels.map { $0[start..<min(start + blockFrames, frames)] }, rate, bits)
        }
    }

    private mutating func append(_ channels: [ArraySlice<Int32>], _ rate: Int, _ bits: Int) {
        let start = bytes.count
        let depths = [8: 1, 12: 2, 16: 4, 20: 5, 24: 6]
        bytes += [0xFF, 0xF8, 0x7D, UInt8((channels.count - 1) << 4 | (depths[bits] ?? 0) << 1)]
        precondition(frameNumber < 0x800, "a frame number of two bytes")
        bytes +=
            frameNumber < 0x80
            ? [UInt8(frameNumber)] : [UInt8(0xC0 | frameNumber >> 6), UInt8(0x80 | frameNumber & 0x3F)]
        bytes.append(big: UInt16(channels[0].count - 1))
        bytes.append(big: UInt16(rate))
        bytes.append(Self.crc8(bytes[start...]))
        var writer = BitWriter()
        for samples in channels {
            // Verbatim subframe: a zero bit, the type, no wasted bits.
            writer.append(0b0_000001_0, 8)
            for sample in samples { writer.append(UInt32(bitPattern: sample), bits) }
        }
        bytes += writer.finished()
        bytes.append(big: Self.crc16(bytes[start...]))
        if numbersBlocks { frameNumber += 1 }
    }

    private static func crc8(_ bytes: ArraySlice<UInt8>) -> UInt8 {
        bytes.reduce(UInt8(0)) { crc, byte in
            (0..<8).reduce(crc ^ byte) { value, _ in value & 0x80 != 0 ? value << 1 ^ 0x07 : value << 1 }
        }
    }

    private static let crc16Table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { value, _ in value & 0x8000 != 0 ? value << 1 ^ 0x8005 : value << 1 }
    }

    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        let table = crc16Table
        var crc: UInt16 = 0
        for byte in bytes { crc = crc << 8 ^ table[Int(UInt8(crc >> 8) ^ byte)] }
        return crc
    }
}

/// Writes bits, most significant first.
private struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending: UInt64 = 0
    private var count = 0

    mutating func append(_ value: UInt32, _ bits: Int) {
        pending = pending << UInt64(bits) | UInt64(value) & (1 << UInt64(bits) - 1)
        count += bits
        while count >= 8 {
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: pending >> UInt64(count)))
        }
    }

    mutating func finished() -> [UInt8] {
        if count > 0 { append(0, 8 - count) }
        return bytes
    }
}
