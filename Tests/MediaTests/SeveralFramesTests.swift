import Conversion
import TestSupport
import Testing

@testable import Media

/// 3GP of phones, whose samples hold several frames of AMR. libav decodes the first of them only.
@Suite struct SeveralFramesTests {
    private let folder: TemporaryFolder
    private static let frames = 103

    init() throws { folder = try TemporaryFolder.create() }

    /// Frames of all types that hold speech, with random bits.
    private func speech(isWide: Bool) -> [UInt8] {
        var generator = SeededGenerator(seed: 76)
        let sizes = isWide ? [17, 23, 32, 36, 40, 46, 50, 58, 60] : [12, 13, 15, 17, 19, 20, 26, 31]
        var bytes = Array((isWide ? "#!AMR-WB\n" : "#!AMR\n").utf8)
        for frame in 0..<Self.frames {
            let type = frame % sizes.count
            bytes.append(UInt8(type << 3 | 4))
            for _ in 0..<sizes[type] { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
        }
        return bytes
    }

    /// The same frames in samples of `count` frames, and their sound by another decoder.
    private func made(isWide: Bool, inSamplesOf count: Int) throws -> (bytes: [UInt8], pcm: PCM) {
        let (bare, path) = (folder.path(isWide ? "a.awb" : "a.amr"), folder.path("one.3gp"))
        try Bytes.write(speech(isWide: isWide), to: bare)
        try FFmpeg.encode(bare, to: path, ["-c", "copy"])
        let tables = try MP4Tables(Bytes.read(path))
        #expect(tables.sizes.count == Self.frames)
        let starts = Array(stride(from: 0, to: Self.frames, by: count))
        func sums(_ numbers: [Int]) -> [Int] { starts.map { numbers[$0...].prefix(count).reduce(0, +) } }
        let bytes = try tables.written(
            durations: sums(tables.durations),
            sizes: sums(tables.sizes),
            places: starts.map { tables.places[$0] }
        )
        return (bytes, try FFmpeg.decode(bare, to: .f32))
    }

    /// Regression: all but the first frame of a sample were reported as a gap, or replaced by silence.
    @Test(arguments: [false, true], [1, 2, 7, 10, 50, 103])
    func allFramesOfASampleAreHeard(isWide: Bool, count: Int) throws {
        let (bytes, pcm) = try made(isWide: isWide, inSamplesOf: count)
        let path = folder.path("many.3gp")
        try Bytes.write(bytes, to: path)
        let read = try Decoded.file(path)
        #expect(read.frames == Self.frames * (isWide ? 320 : 160) && read.damage.isEmpty)
        #expect(read.track.length == .exact(Int64(read.frames)))
        let isSame = read.pcm == pcm
        #expect(isSame)
        let concealed = try Decoded.file(path, damage: .conceal)
        let isUntouched = concealed.pcm == pcm
        #expect(isUntouched && concealed.damage.isEmpty)
    }

    @Test(arguments: [false, true]) func rangesBeginWithinASample(isWide: Bool) throws {
        let (bytes, pcm) = try made(isWide: isWide, inSamplesOf: 10)
        let path = folder.path("many.3gp")
        try Bytes.write(bytes, to: path)
        let access = try RandomAccess(path)
        for range in [5_000..<9_000, 100..<101, 0..<pcm.frames, 12_345..<12_999] {
            #expect(try access.pcm(range) == pcm.cut(range))
        }
    }

    /// A frame that is cut off at the end of a sample is damage, and the others are not.
    @Test func aFrameThatIsCutIsFound() throws {
        let (bytes, _) = try made(isWide: false, inSamplesOf: 103)
        var sizes = try MP4Tables(bytes).sizes
        sizes[0] -= 5
        let path = folder.path("cut.3gp")
        try Bytes.write(try MP4Tables(bytes).written(sizes: sizes), to: path)
        #expect(Converted.code { _ = try Decoded.file(path) } != nil)
        let read = try Decoded.file(path, damage: .conceal)
        #expect(read.frames == 103 * 160 && read.damage.frames == 160)
    }

    /// Regression: a crash. Matroska may state any time for a packet, and the frames in it follow one another.
    @Test func timesAtTheEndOfAllNumbersAreNoCrash() throws {
        var first = try Packet()
        var rest = try Packet()
        try rest.allocate(33)
        rest.setTime(.max - 1)
        rest.duration = .min + 1
        try first.takeFirst(13, lasting: 160, of: &rest)
        let (bytes, time) = ([first.byteCount, rest.byteCount], rest.timestamp)
        #expect(bytes == [13, 20] && time == nil)
    }
}
