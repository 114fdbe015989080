import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Files beyond four gigabytes, the limit of 32-bit lengths. What has been written is punched out of the file at
/// once; it reads as zeros, which is silence anyway.
@Suite struct LargeFileTests {
    private static let fourGigabytes: Int64 = 1 << 32

    @Test func wavBecomesRF64ByItself() throws {
        let file = try MemoryFile.open()
        let path = "/proc/\(getpid())/fd/\(file.descriptor)"
        let layout = ChannelLayout.sevenPointOne
        let format = ResolvedFormat(
            container: .wav,
            codec: .pcm,
            sampleRateHz: 192_000,
            channelCount: 8,
            layout: layout,
            bitDepth: 64,
            sampleKind: .float,
            endianness: .little
        )
        let writer = try Writer(descriptor: file.descriptor, format: format)
        let input = try writer.samples()
        var block = try SampleBlock()
        let frames = 1 << 17
        try block.reserve(
            frames,
            SampleShape(format: .f64, sampleRateHz: 192_000, channelCount: 8, channelMask: layout.mask)
        )
        block.silence()
        var written: Int64 = 0
        while written * 64 <= Self.fourGigabytes {
            try input.append(&block)
            written += Int64(frames)
            try Holes.punch(file.descriptor, upTo: written * 64 - 1 << 20)
        }
        let summary = try writer.finish()
        #expect(summary.writtenFrames == written && summary.bytes > Self.fourGigabytes)
        #expect(try Array(Bytes.start(of: path, count: 4)) == Array("RF64".utf8))

        let reader = try Reader(descriptor: file.descriptor)
        let track = try reader.track()
        #expect(track.length == .exact(written))
        #expect(try FFmpeg.probe(path).audio.first?.duration == Int(written))
        let end = MediaTime(frames: written, rate: 192_000)
        let last = try MediaTimeRange(start: MediaTime(frames: written - 1000, rate: 192_000), end: end)
        let output = try reader.samples(of: track, ranges: [last])
        while try output.next(into: &block) {}
        #expect(output.deliveredFrames == 1000)
    }

    /// The source is a header and a hole of three gigabytes. The output samples are twice as wide.
    @Test(arguments: [Container.aiff, .aifc, .au])
    func whatCannotBeSoLargeIsRefusedBeforeAByte(container: Container) throws {
        let folder = try TemporaryFolder.create()
        let (source, target) = (folder.path("large.wav"), folder.path("target"))
        let size = 3 << 30
        let none = Signal.silence(rate: 48_000, frames: 0, channels: 2).pcm(.s16)
        let header = try WAVFile.bytes(none, options: .init(claimedDataSize: UInt32(size)))
        try Bytes.write(header, to: source)
        try Bytes.truncate(source, to: header.count + size)
        let code = Converted.code {
            try Converted.file(source, to: target, as: AudioFormat(container: container, bitDepth: 32))
        }
        #expect(code == .outputTooLarge)
        #expect(try Bytes.size(of: target) == 0)
    }

    /// The length is not known in advance: the writer stops before the header's size field would overflow.
    @Test(arguments: [Container.aiff, .au]) func unknownLengthEndsAtTheLimit(container: Container) throws {
        let file = try MemoryFile.open()
        let format = ResolvedFormat(
            container: container,
            codec: .pcm,
            sampleRateHz: 16_000_000,
            channelCount: 2,
            layout: .stereo,
            bitDepth: 32,
            sampleKind: .integer,
            endianness: .big
        )
        let writer = try Writer(descriptor: file.descriptor, format: format)
        let input = try writer.samples()
        var block = try SampleBlock()
        // A minute at 1 Hz is far more than 4 GB at 16 MHz.
        try block.reserve(60, SampleShape(format: .s32, sampleRateHz: 1, channelCount: 2, channelMask: 3))
        block.silence()
        #expect(Converted.code { try input.append(&block) } == .outputTooLarge)
        #expect(Converted.code { _ = try writer.finish() } == .writerFailed)
    }
}

/// Releases the blocks of a file, which then read as zeros and take no disk space.
private enum Holes {
    private typealias Allocate = @convention(c) (Int32, Int32, Int, Int) -> Int32

    /// FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE, from linux/falloc.h.
    private static let punchKeepingSize: Int32 = 2 | 1

    /// Releases everything except the first 4 KiB, which hold the header, and the bytes from `end` on.
    static func punch(_ descriptor: Int32, upTo end: Int64) throws {
        guard end > 8192 else { return }
        guard let address = dlsym(nil, "fallocate") else { throw SupportError("find fallocate", "not in glibc") }
        let allocate = unsafeBitCast(address, to: Allocate.self)
        guard allocate(descriptor, punchKeepingSize, 4096, Int(end) - 4096) == 0 else {
            throw SupportError("punch a hole", errno: errno)
        }
    }
}

extension Bytes {
    /// The first bytes of a file that is too large to read whole.
    fileprivate static func start(of path: String, count: Int) throws -> [UInt8] {
        let file = try OpenFile.reading(path)
        var bytes = [UInt8](repeating: 0, count: count)
        guard Foundation.read(file.descriptor, &bytes, count) == count else {
            throw SupportError("read \(path)", errno: errno)
        }
        return bytes
    }
}
