import Conversion
import TestSupport
import Testing

@testable import Media

/// Creative Voice files with silence, repetitions and several rates, which libav passes over.
@Suite struct VOCTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 12, rate: 10_000, frames: 30_000).pcm(.u8)

    init() throws { folder = try TemporaryFolder.create() }

    private static func block(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
        let size: [UInt8] = bigEndianBytes(Int64(body.count), count: 3).reversed()
        return [type] + size + body
    }

    /// Samples of 8 bits at 10 kHz, or at the rate that another divisor stands for.
    private static func samples(_ frames: Range<Int>, divisor: UInt8 = 156) -> [UInt8] {
        block(1, [divisor, 0] + sound.bytes[frames])
    }

    private static func silence(_ frames: Int) -> [UInt8] {
        let length: [UInt8] = bigEndianBytes(Int64(frames - 1), count: 2).reversed()
        return block(3, length + [156])
    }

    private static func repeating(_ times: Int) -> [UInt8] {
        block(6, bigEndianBytes(Int64(times - 1), count: 2).reversed())
    }

    private static let repeatEnd = block(7, [])

    private func file(_ blocks: [[UInt8]]) -> [UInt8] {
        let numbers: [UInt8] = [26, 0, 0x0A, 0x01, 0x29, 0x11]
        var bytes = Array("Creative Voice File\u{1A}".utf8) + numbers
        for block in blocks { bytes += block }
        return bytes + [0]
    }

    private func part(_ frames: Range<Int>) -> [UInt8] { Array(Self.sound.bytes[frames]) }

    private func quiet(_ frames: Int) -> [UInt8] { [UInt8](repeating: 128, count: frames) }

    private func read(_ blocks: [[UInt8]]) throws -> Decoded {
        try Bytes.write(file(blocks), to: folder.path("a.voc"))
        return try Decoded.file(folder.path("a.voc"))
    }

    /// Regression: the silence was left out, so that all behind it came too early.
    @Test func silenceIsPlayed() throws {
        let read = try read([Self.samples(0..<7_000), Self.silence(5_000), Self.samples(7_000..<30_000)])
        let expected: [UInt8] = part(0..<7_000) + quiet(5_000) + part(7_000..<30_000)
        let isSame = read.bytes == expected
        #expect(isSame)
        #expect(read.track.length == .exact(35_000) && read.damage.isEmpty)
    }

    /// Regression: each part was played once.
    @Test func repetitionsArePlayed() throws {
        let read = try read([
            Self.samples(0..<1_000), Self.repeating(3), Self.samples(1_000..<9_000), Self.silence(10), Self.repeatEnd,
            Self.samples(9_000..<10_000),
        ])
        let once: [UInt8] = part(1_000..<9_000) + quiet(10)
        var expected = part(0..<1_000)
        for _ in 0..<3 { expected += once }
        expected += part(9_000..<10_000)
        let isSame = read.bytes == expected
        #expect(isSame)
    }

    /// libav takes the block that ends a repetition for one that fills the rest of the file.
    @Test func soundBehindARepetitionIsPlayed() throws {
        let read = try read([
            Self.repeating(2), Self.samples(0..<1_000), Self.repeatEnd, Self.samples(1_000..<3_000), Self.repeating(1),
            Self.samples(3_000..<3_007), Self.repeatEnd, Self.repeatEnd, Self.samples(3_007..<9_000),
        ])
        let isSame = read.bytes == part(0..<1_000) + part(0..<9_000)
        #expect(isSame && read.damage.isEmpty)
    }

    @Test func aRepetitionWithoutEndIsPlayedOnce() throws {
        let read = try read([Self.block(6, [0xFF, 0xFF]), Self.samples(0..<4_000), Self.repeatEnd])
        #expect(read.frames == 4_000)
    }

    @Test func aRangeCountsTheSilence() throws {
        _ = try read([Self.samples(0..<7_000), Self.silence(5_000), Self.samples(7_000..<30_000)])
        let range = try MediaTimeRange(
            start: MediaTime(frames: 11_000, rate: 10_000),
            end: MediaTime(frames: 14_000, rate: 10_000)
        )
        let found = try ReadBack.file(folder.path("a.voc"), [range]).pcm
        let isSame = found.bytes == quiet(1_000) + part(7_000..<9_000)
        #expect(isSame)
    }

    /// Regression: the second block was played at the rate of the first.
    @Test func aSecondRateIsRefused() throws {
        let blocks = [Self.samples(0..<7_000), Self.samples(7_000..<9_000, divisor: 206)]
        let error = #expect(throws: MediaError.self) { try read(blocks) }
        #expect(error?.code == .unsupportedEditList && error?.detail.contains("10 kHz, 20 kHz") == true)
    }

    /// What is no special case is read as ever: several blocks at one rate.
    @Test func blocksAreReadOneAfterAnother() throws {
        let read = try read([Self.samples(0..<7_000), Self.block(2, Array(Self.sound.bytes[7_000..<30_000]))])
        let isSame = read.bytes == Self.sound.bytes
        #expect(isSame)
    }

    @Test func silenceInAPipeIsPlayedOrRefused() throws {
        let bytes = file([Self.samples(0..<7_000), Self.silence(5_000), Self.samples(7_000..<30_000)])
        let pipe = try FilledPipe.holding(bytes)
        let code = Converted.code { _ = try Decoded.descriptor(pipe.reading, nameHint: "a.voc") }
        #expect(code == nil || code == .sourceNotSeekable)
    }

    /// Regression: behind the bytes that are kept of a pipe, silence was left out and repetitions were played once.
    @Test func whatFollowsFarFromTheStartOfAPipeIsRefused() throws {
        let start = [Self.samples(0..<100)] + Array(repeating: Self.block(2, Self.sound.bytes), count: 8)
        let others: [[[UInt8]]] = [
            [Self.silence(5_000)], [Self.repeating(2), Self.samples(0..<9)], [Self.samples(0..<9, divisor: 206)],
        ]
        for blocks in others {
            let pipe = try FilledPipe.holding(file(start + blocks + [Self.samples(0..<9)]))
            let error = #expect(throws: MediaError.self) { try Decoded.descriptor(pipe.reading, nameHint: "a.voc") }
            #expect(error?.code == .sourceNotSeekable && error?.hint == "read it from a file")
        }
        let pipe = try FilledPipe.holding(file(start + [Self.block(5, [65, 0]), Self.samples(0..<9)]))
        #expect(try Decoded.descriptor(pipe.reading, nameHint: "a.voc").frames == 240_109)
    }

    /// Regression: the block before the end of a repetition took 24 bits that did not hold its size.
    @Test func theGreatestBlockBeforeARepetitionEndsIsRefused() throws {
        let greatest = Self.block(1, [156, 0] + [UInt8](repeating: 128, count: 0xFF_FFFF - 2))
        let blocks = [Self.repeating(2), greatest, Self.repeatEnd, Self.samples(0..<9)]
        let error = #expect(throws: MediaError.self) { try read(blocks) }
        #expect(error?.code == .unsupportedEditList && error?.detail.contains("behind a repetition") == true)
    }

    /// Regression: the parts that are missing were refused as a range, which the request did not have.
    @Test func trustedBlocksEndWithTheFile() throws {
        let bytes = file([Self.samples(0..<7_000), Self.silence(5_000), Self.samples(7_000..<30_000)])
        try Bytes.write(Array(bytes.prefix(20_000)), to: folder.path("a.voc"))
        let read = try Decoded.file(folder.path("a.voc"), damage: .trustPackets)
        let found = part(0..<7_000) + quiet(5_000) + part(7_000..<30_000)
        let isSame = read.frames > 12_000 && read.bytes == Array(found.prefix(read.frames))
        #expect(isSame && read.damage.stretches.map(\.code) == [.truncated])
    }

    @Test func tooManyPartsAreRefusedByTheirNumber() throws {
        let error = #expect(throws: MediaError.self) {
            try read(Array(repeating: Self.samples(0..<9) + Self.silence(9), count: 5_001))
        }
        #expect(error?.code == .unsupportedEditList && error?.detail.contains("more than 10,000 parts") == true)
    }

    /// A trail finds the blocks in pieces of any length.
    @Test(arguments: [1, 7, 5_000]) func aTrailSeesEachBlock(count: Int) {
        func seen(_ blocks: [[UInt8]]) -> Bool {
            let (bytes, trail) = (file(blocks), VOCTrail())
            for start in stride(from: 0, to: bytes.count, by: count) {
                Array(bytes[start...].prefix(count)).withUnsafeBufferPointer(trail.pass)
            }
            return trail.needsTimeLine
        }
        let plain = [Self.samples(0..<7_000), Self.block(2, Array(repeating: 3, count: 100)), Self.samples(0..<9)]
        #expect(!seen(plain) && !seen(plain + [Self.block(4, [1, 2])]) && !seen([]))
        #expect(seen(plain + [Self.silence(1)]) && seen([Self.repeating(3)] + plain) && seen(plain + [Self.repeatEnd]))
        #expect(seen(plain + [Self.samples(0..<9, divisor: 155)]))
        // What follows the last block is none.
        #expect(!seen(plain + [[0], Self.silence(1)]))
    }
}
