/// FLAC with varying block sizes, which no available encoder writes: 16 bits, uncompressed.
public struct BlockyFLAC: Sendable {
    /// What the numbers in the frame headers count.
    public enum Numbering: String, CaseIterable, Sendable {
        /// Samples, as declared by the header's blocking strategy bit.
        case samples
        /// Samples, without the bit, as encoders wrote before it existed.
        case samplesUntold
        /// Frames, as if all blocks had the same size.
        case frames
    }

    /// All bytes before the first frame.
    public let head: [UInt8]
    /// The bytes of each frame.
    public private(set) var frames: [[UInt8]] = []
    /// Where each frame begins in the sound, followed by the end of the last frame.
    public private(set) var starts: [Int] = []

    /// The whole file.
    public var bytes: [UInt8] { head + frames.flatMap { $0 } }

    /// Makes blocks whose sizes cycle through `sizes`. The header states their range, or `claimed`.
    public init(_ pcm: PCM, sizes: [Int], _ numbering: Numbering, claimed: (least: Int, most: Int)? = nil) throws {
        var head = Array("fLaC".utf8) + [0x80, 0, 0, 34]
        head.append(big: UInt16(claimed?.least ?? sizes.min()!))
        head.append(big: UInt16(claimed?.most ?? sizes.max()!))
        head += [UInt8](repeating: 0, count: 6)
        head.append(
            big: UInt64(pcm.rate) << 44 | UInt64(pcm.channels - 1) << 41 | UInt64(15) << 36 | UInt64(pcm.frames)
        )
        self.head = head + (try Self.digest(pcm.bytes))
        let table = Self.table
        var start = 0
        while start < pcm.frames {
            let end = min(start + sizes[frames.count % sizes.count], pcm.frames)
            let number = numbering == .frames ? frames.count : start
            frames.append(Self.frame(pcm, start..<end, number, tellsSamples: numbering == .samples, table))
            starts.append(start)
            start = end
        }
        starts.append(start)
    }

    /// Changes bits in the middle of a frame.
    public mutating func damage(_ number: Int) { frames[number][frames[number].count / 2] ^= 0x55 }

    /// Leaves a frame out.
    public mutating func remove(_ number: Int) { frames.remove(at: number) }

    private static func frame(
        _ pcm: PCM,
        _ range: Range<Int>,
        _ number: Int,
        tellsSamples: Bool,
        _ table: [UInt16]
    ) -> [UInt8] {
        // 16-bit block size; the header's rate; the default layout for this number of channels; 16-bit samples.
        var frame: [UInt8] = [0xFF, tellsSamples ? 0xF9 : 0xF8, 0x70, UInt8((pcm.channels - 1) << 4 | 4 << 1)]
        frame += coded(number)
        frame.append(big: UInt16(range.count - 1))
        frame.append(frame.reduce(UInt8(0)) { sum, byte in crc(sum ^ byte, 0x07) })
        for channel in 0..<pcm.channels {
            // Verbatim subframe without wasted bits, so that whole bytes follow.
            frame.append(0b0_000001_0)
            for index in range {
                let place = index * pcm.bytesPerFrame + 2 * channel
                frame.append(pcm.bytes[place + 1])
                frame.append(pcm.bytes[place])
            }
        }
        var sum: UInt16 = 0
        for byte in frame { sum = sum << 8 ^ table[Int(UInt8(sum >> 8) ^ byte)] }
        frame.append(big: sum)
        return frame
    }

    private static let table: [UInt16] = (0..<256).map { byte in crc(UInt16(byte) << 8, 0x8005) }

    /// A checksum after eight more bits.
    private static func crc<Sum: FixedWidthInteger>(_ sum: Sum, _ polynomial: Sum) -> Sum {
        var sum = sum
        for _ in 0..<8 {
            let overflows = sum.leadingZeroBitCount == 0
            sum <<= 1
            if overflows { sum ^= polynomial }
        }
        return sum
    }

    /// A number in FLAC's extension of UTF-8, up to 36 bits.
    private static func coded(_ number: Int) -> [UInt8] {
        if number < 0x80 { return [UInt8(number)] }
        var length = 2
        while number >= 1 << (5 * length + 1) { length += 1 }
        let rest: [UInt8] = (0..<(length - 1)).reversed().map { (place: Int) -> UInt8 in
            let bits: Int = (number >> (6 * place)) & 0x3F
            return UInt8(0x80 | bits)
        }
        let lead = UInt8(truncatingIfNeeded: 0xFF00 >> length)
        return [lead | UInt8(truncatingIfNeeded: number >> (6 * (length - 1)))] + rest
    }

    /// The MD5 of the samples, computed by the system's `md5sum`.
    private static func digest(_ bytes: [UInt8]) throws -> [UInt8] {
        let folder = try TemporaryFolder.create()
        try Bytes.write(bytes, to: folder.path("samples"))
        let text = try Run.program("md5sum", [folder.path("samples")]).checked().outputText
        let digits = Array(text.prefix(32))
        return stride(from: 0, to: 32, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }
}
