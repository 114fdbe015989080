import Conversion
import TestSupport
import Testing

@testable import Media

/// WAV files with headers that libav misreads: numbers with the most significant byte first (RIFX), frames of a wrong
/// size, and several chunks of sound.
@Suite struct WAVHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static func number(_ value: Int, _ count: Int, isBig: Bool) -> [UInt8] {
        let bytes = bigEndianBytes(Int64(value), count: count)
        return isBig ? bytes : bytes.reversed()
    }

    /// Samples of two channels that differ, and their bytes.
    private static func sound(bits: Int, frames: Int, isBig: Bool) -> (bytes: [UInt8], values: [Double]) {
        var generator = SeededGenerator(seed: UInt64(bits))
        var (bytes, values): ([UInt8], [Double]) = ([], [])
        for _ in 0..<frames * 2 {
            let value = Int32(truncatingIfNeeded: generator.next()) >> (32 - bits)
            values.append(Double(value) / Double(1 << (bits - 1)))
            // Samples of eight bits have no sign.
            bytes += number(bits == 8 ? Int(value) + 128 : Int(value), bits / 8, isBig: isBig)
        }
        return (bytes, values)
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        var bits = 16
        var isBig = false
        var isExtensible = false
        /// Bytes of a frame according to the header; `nil` for the right number.
        var align: Int?
        var testDescription: String { "\(bits) \(isBig) \(isExtensible) \(align ?? 0)" }
    }

    private static func file(_ shape: Shape, _ sound: [[UInt8]], before: [UInt8] = []) -> [UInt8] {
        let frame = shape.bits / 4
        func number(_ value: Int, _ count: Int) -> [UInt8] { Self.number(value, count, isBig: shape.isBig) }
        func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] { Array(name.utf8) + number(bytes.count, 4) + bytes }
        var format = number(shape.isExtensible ? 0xFFFE : 1, 2) + number(2, 2) + number(48_000, 4)
        format += number(48_000 * frame, 4) + number(shape.align ?? frame, 2) + number(shape.bits, 2)
        if shape.isExtensible {
            let identifier: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
            format += number(22, 2) + number(shape.bits, 2) + number(3, 4) + number(1, 2) + identifier
        }
        let title = chunk("LIST", Array("INFO".utf8) + chunk("INAM", Array("A name".utf8)))
        let body = Array("WAVE".utf8) + chunk("fmt ", format) + title + sound.flatMap { chunk("data", $0) }
        return chunk(shape.isBig ? "RIFX" : "RIFF", body)
    }

    /// Regression: libav refused the file.
    @Test(arguments: [false, true], [0, 3]) func aListWithoutATypeIsPassedOver(isBig: Bool, size: Int) throws {
        let sound = Self.sound(bits: 16, frames: 3_000, isBig: isBig)
        let bytes = Self.file(Shape(isBig: isBig), [sound.bytes])
        var list = Array("LIST".utf8) + Self.number(size, 4, isBig: isBig)
        list += [UInt8](repeating: 0, count: (size + 1) / 2 * 2)
        try check(bytes + list, sound.values)
        try check(Array(bytes[..<12]) + list + Array(bytes[12...]), sound.values)
    }

    private func check(_ bytes: [UInt8], _ values: [Double]) throws {
        try Bytes.write(bytes, to: folder.path("a.wav"))
        let fromFile = try ReadBack.file(folder.path("a.wav"))
        let pipe = try FilledPipe.holding(bytes)
        let fromPipe = try ReadBack(descriptor: pipe.reading)
        for read in [fromFile, fromPipe] {
            #expect(read.track.length == .exact(Int64(values.count / 2)))
            #expect(read.description.tags.contains { $0.key == "title" && $0.value == "A name" })
            let pcm = try read.pcm
            #expect(pcm.frames == values.count / 2 && pcm.channels == 2 && pcm.rate == 48_000)
            let channels = (0..<2).map { pcm.samples(channel: $0) }
            let heard = (0..<pcm.frames).flatMap { [channels[0][$0], channels[1][$0]] }
            let isSame = heard == values
            #expect(isSame)
        }
    }

    @Test(arguments: [8, 16, 24, 32], [false, true]) func bigEndianSamplesAreRead(bits: Int, isExtensible: Bool) throws
    {
        let sound = Self.sound(bits: bits, frames: 5_001, isBig: true)
        let shape = Shape(bits: bits, isBig: true, isExtensible: isExtensible)
        try check(Self.file(shape, [sound.bytes]), sound.values)
        // From the midst.
        let range = try MediaTimeRange(
            start: MediaTime(frames: 1_000, rate: 48_000),
            end: MediaTime(frames: 1_500, rate: 48_000)
        )
        let part = try ReadBack.file(folder.path("a.wav"), [range]).pcm
        let isPart = part.samples(channel: 0) == (1_000..<1_500).map { sound.values[2 * $0] }
        #expect(isPart)
    }

    @Test(arguments: ["-b 16", "-b 24", "-b 32", "-b 32 -e float", "-b 64 -e float", "-b 8 -e mu-law"])
    func whatSoXWritesIsReadAsSoXReadsIt(arguments: String) throws {
        let line = """
            sox -n -r 44100 -c 2 -b 32 in.wav synth 0.3 sine 440 sine 1000 gain -10
            sox in.wav -B \(arguments) big.wav && sox big.wav -L little.wav
            """
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let big = try ReadBack.file(folder.path("big.wav")).pcm
        #expect(try Bytes.read(folder.path("big.wav")).starts(with: Array("RIFX".utf8)))
        let little = try ReadBack.file(folder.path("little.wav")).pcm
        #expect(big.frames == 13_230 && little.frames == 13_230)
        for channel in 0..<2 {
            let isSame = big.samples(channel: channel) == little.samples(channel: channel)
            #expect(isSame)
        }
    }

    @Test func aCutOneIsTruncated() throws {
        let sound = Self.sound(bits: 16, frames: 5_001, isBig: true)
        let bytes = Self.file(Shape(isBig: true), [sound.bytes]).dropLast(1_000)
        try Bytes.write(Array(bytes), to: folder.path("a.wav"))
        #expect(Converted.code { _ = try ReadBack.file(folder.path("a.wav")) } == .truncated)
    }

    @Test(arguments: [2, 3, 6, 8], [false, true])
    func theSizeOfAFrameFollowsFromItsSamples(align: Int, isExtensible: Bool) throws {
        let sound = Self.sound(bits: 16, frames: 5_001, isBig: false)
        try check(Self.file(Shape(isExtensible: isExtensible, align: align), [sound.bytes]), sound.values)
    }

    @Test func aWrongSizeInRIFXIsFoundToo() throws {
        let sound = Self.sound(bits: 24, frames: 5_001, isBig: true)
        try check(Self.file(Shape(bits: 24, isBig: true, align: 2), [sound.bytes]), sound.values)
    }

    /// libav would leave out the first, SoX the second.
    @Test func twoChunksOfSoundAreRefused() throws {
        let sound = Self.sound(bits: 16, frames: 2_000, isBig: false).bytes
        try Bytes.write(Self.file(Shape(), [sound, sound]), to: folder.path("a.wav"))
        #expect(Converted.code { _ = try ReadBack.file(folder.path("a.wav")) } == .unreadableContainer)
        try Bytes.write(Self.file(Shape(), [sound, []]), to: folder.path("a.wav"))
        #expect(try ReadBack.file(folder.path("a.wav")).pcm.frames == 2_000)
    }
}
