import Conversion
import TestSupport
import Testing

@testable import Media

/// PCM whose samples have fewer valid bits than the bytes hold that the header gives them.
@Suite struct PCMWidthTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    static let widths = [(16, 24), (12, 24), (20, 24), (16, 32), (8, 32), (20, 32), (24, 32), (8, 16), (12, 16)]

    /// Two channels that differ, as little-endian samples of `bits` bits of which `valid` are not zero.
    private static func samples(valid: Int, bits: Int, frames: Int) -> (bytes: [UInt8], values: [Int32]) {
        var generator = SeededGenerator(seed: UInt64(valid * 100 + bits))
        var (bytes, values): ([UInt8], [Int32]) = ([], [])
        for _ in 0..<frames * 2 {
            let value = (Int32(truncatingIfNeeded: generator.next()) >> (32 - valid)) << (32 - valid)
            values.append(value)
            let bigEndian = withUnsafeBytes(of: value.littleEndian) { Array($0) }
            bytes += bigEndian.suffix(bits / 8)
        }
        return (bytes, values)
    }

    private func check(_ path: String, _ values: [Int32], _ what: String) throws {
        let read = try ReadBack.file(path)
        #expect(read.track.length == .exact(Int64(values.count / 2)), "\(what)")
        let pcm = try read.pcm
        #expect(pcm.frames == values.count / 2 && pcm.channels == 2, "\(what)")
        let all = (0..<2).map { pcm.samples(channel: $0) }
        let heard = (0..<values.count / 2).flatMap { [all[0][$0], all[1][$0]] }
        let isSame = heard == values.map { Double($0) / 2_147_483_648 }
        #expect(isSame, "\(what)")
        // From the midst.
        let range = try MediaTimeRange(
            start: MediaTime(frames: 1_000, rate: 48_000),
            end: MediaTime(frames: 1_500, rate: 48_000)
        )
        let part = try ReadBack.file(path, [range]).pcm
        let isPart = part.samples(channel: 1) == Array(all[1][1_000..<1_500])
        #expect(isPart, "\(what)")
    }

    @Test(arguments: widths) func samplesFillTheirBytesInWAVAndW64(valid: Int, bits: Int) throws {
        let (bytes, values) = Self.samples(valid: valid, bits: bits, frames: 4_000)
        func little(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let align = bits / 8 * 2
        let guid: [UInt8] = [1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
        let format =
            [0xFE, 0xFF] + little(2, 2) + little(48_000, 4) + little(48_000 * align, 4) + little(align, 2)
            + little(bits, 2) + little(22, 2) + little(valid, 2) + little(3, 4) + guid
        let chunks =
            Array("WAVEfmt ".utf8) + little(format.count, 4) + format + Array("data".utf8) + little(bytes.count, 4)
            + bytes
        try Bytes.write(Array("RIFF".utf8) + little(chunks.count, 4) + chunks, to: folder.path("a.wav"))
        try check(folder.path("a.wav"), values, "WAV, \(valid) in \(bits)")

        let mark: [UInt8] = [0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1, 0, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A]
        let riff: [UInt8] = [0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6, 0x28, 0xDB, 4, 0xC1, 0, 0]
        let wide =
            Array("fmt ".utf8) + mark + little(format.count + 24, 8) + format + Array("data".utf8) + mark
            + little(bytes.count + 24, 8) + bytes
        let head = Array("riff".utf8) + riff + little(wide.count + 40, 8) + Array("wave".utf8) + mark
        try Bytes.write(head + wide, to: folder.path("a.w64"))
        try check(folder.path("a.w64"), values, "W64, \(valid) in \(bits)")
    }

    @Test(arguments: [8, 24, 32]) func littleEndianAIFCHasAsManyBitsAsItSays(bits: Int) throws {
        let (bytes, values) = Self.samples(valid: bits, bits: bits, frames: 4_000)
        func big(_ value: Int, _ count: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: count) }
        // 48,000 as an extended number.
        let rate: [UInt8] = [0x40, 0x0E, 0xBB, 0x80, 0, 0, 0, 0, 0, 0]
        let common = big(2, 2) + big(4_000, 4) + big(bits, 2) + rate + Array("sowt".utf8) + [0, 0]
        let chunks =
            Array("AIFC".utf8) + Array("COMM".utf8) + big(common.count, 4) + common + Array("SSND".utf8)
            + big(bytes.count + 8, 4) + big(0, 8) + bytes
        try Bytes.write(Array("FORM".utf8) + big(chunks.count, 4) + chunks, to: folder.path("a.aifc"))
        try check(folder.path("a.aifc"), values, "sowt, \(bits)")
    }

    /// CAF does not say which bytes of a sample count.
    @Test(arguments: [0, 2], [(16, 4), (24, 4), (16, 2), (24, 3)])
    func samplesOfCAFThatDoNotFillTheirBytesAreRefused(flags: Int, width: (bits: Int, bytes: Int)) throws {
        func big(_ value: Int, _ count: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: count) }
        let rate = withUnsafeBytes(of: 48_000.0.bitPattern.bigEndian) { Array($0) }
        let shape =
            rate + Array("lpcm".utf8) + big(flags, 4) + big(width.bytes * 2, 4) + big(1, 4) + big(2, 4)
            + big(width.bits, 4)
        let sound = [UInt8](repeating: 1, count: width.bytes * 2 * 1_000)
        let bytes =
            Array("caff".utf8) + big(1, 2) + big(0, 2) + Array("desc".utf8) + big(shape.count, 8) + shape
            + Array("data".utf8) + big(sound.count + 4, 8) + big(0, 4) + sound
        try Bytes.write(bytes, to: folder.path("a.caf"))
        if width.bytes * 8 == width.bits {
            #expect(try ReadBack.file(folder.path("a.caf")).pcm.frames == 1_000)
        } else {
            let error = #expect(throws: MediaError.self) { try ReadBack.file(folder.path("a.caf")) }
            #expect(error?.code == .unsupportedCodec)
        }
    }
}
