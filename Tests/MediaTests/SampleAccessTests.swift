import Conversion
import TestSupport
import Testing

@testable import Media

/// Samples as numbers: lent by blocks, and read as values.
@Suite struct SampleAccessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func range(_ start: Int64, _ end: Int64, _ rate: Int32) throws -> MediaTimeRange {
        try MediaTimeRange(
            start: MediaTime(value: start, timescale: rate),
            end: end == .max ? .positiveInfinity : MediaTime(value: end, timescale: rate)
        )
    }

    // MARK: Values

    @Test(arguments: [PCM.SampleFormat.u8, .s16, .s24, .f32, .f64]) func rangesAreValues(format: PCM.SampleFormat)
        throws
    {
        let path = folder.path("a.wav")
        let sound = Signal.sweep(rate: 8_000, frames: 20_000, channels: 2).pcm(format)
        try WAVFile.write(sound, to: path)
        let file = try OpenFile.reading(path)
        let reader = try Reader(descriptor: file.descriptor)
        for (start, end) in [(15_000, 15_100), (3, 4), (0, 20_000), (7, 7), (19_999, 20_000)] {
            let block = try reader.read(range(Int64(start), Int64(end), 8_000))
            #expect(block.frameCount == end - start && block.position == Int64(start))
            let wanted = try sound.cut(start..<end)
            for channel in 0..<(start == end ? 0 : 2) {
                let floats = wanted.samples(channel: channel).map { Float($0) }
                #expect(block.floatChannels[channel] == floats)
            }
            guard start < end else { continue }
            #expect(block.floats.count == 2 * (end - start))
            switch format {
            case .s16:
                #expect(block.samples(as: Int16.self)?.count == 2 * (end - start))
                let right = wanted.samples(channel: 1).map { Int16($0 * 32_768) }
                #expect(block.channels(as: Int16.self)?[1] == right)
                #expect(block.channels(as: Float.self) == nil)
            case .f32: #expect(block.channels(as: Float.self) == block.floatChannels)
            default: break
            }
        }
        #expect(try reader.read(range(19_000, .max, 8_000)).frameCount == 1_000)
    }

    @Test func readingIsTheOnlyOutputOfItsReader() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16), to: path)
        let file = try OpenFile.reading(path)
        let reader = try Reader(descriptor: file.descriptor)
        _ = try reader.read(range(0, 10, 8_000))
        _ = try reader.read(range(5, 10, 8_000))
        let error = #expect(throws: MediaError.self) { try reader.samples(of: reader.track()) }
        #expect(error?.code == .alreadyFinished)
        for (start, end) in [(Int64(7_999), Int64(8_001)), (9_000, .max)] {
            let error = #expect(throws: MediaError.self) { try reader.read(range(start, end, 8_000)) }
            #expect(error?.code == .rangeOutsideSource)
        }
        #expect(try reader.read(range(7_999, 8_000, 8_000)).frameCount == 1)
    }

    /// Without a stated length, only reading finds the end.
    @Test func rangeBeyondAnUnknownEndIsRefused() throws {
        let path = folder.path("n.mp3")
        try FFmpeg.encode(Signal.tone(440, rate: 48_000, frames: 30_000).pcm(.s16), to: path, ["-write_xing", "0"])
        let access = try RandomAccess(path)
        let length = try ReadBack.file(path).deliveredFrames
        for _ in 0..<2 {
            let error = #expect(throws: MediaError.self) { try access.pcm(Int(length) - 10..<Int(length) + 1) }
            #expect(error?.code == .rangeOutsideSource)
            #expect(try access.pcm(Int(length) - 10..<Int(length)).frames == 10)
        }
        let error = #expect(throws: MediaError.self) { try LoopOutput(access.reader, 0..<length + 1, times: 2) }
        #expect(error?.code == .rangeOutsideSource)
    }

    @Test func valueHasOneShape() throws {
        var joined: [UInt8] = []
        for rate in [44_100, 48_000] {
            let path = folder.path("part.mp3")
            let sweep = Signal.sweep(rate: rate, frames: 60_000)
            try FFmpeg.encode(sweep.pcm(.s16), to: path, ["-write_xing", "0", "-id3v2_version", "0"])
            joined += try Bytes.read(path)
        }
        try Bytes.write(joined, to: folder.path("all.mp3"))
        let access = try RandomAccess(folder.path("all.mp3"))
        let error = #expect(throws: MediaError.self) { try access.pcm(50_000..<90_000) }
        #expect(error?.code == .formatRefused)
        var block = try SampleBlock()
        let other = #expect(throws: MediaError.self) { try access.reader.read(50_000..<90_000, into: &block) }
        #expect(other?.code == .formatRefused)
        #expect(try access.pcm(40_000..<50_000).frames == 10_000)
    }

    @Test func blockHoldsExactlyTheRange() throws {
        let path = folder.path("a.flac")
        let sweep = Signal.sweep(rate: 44_100, frames: 100_000).pcm(.s16)
        try FFmpeg.encode(sweep, to: path)
        let access = try RandomAccess(path)
        var block = try SampleBlock()
        for range in [0..<100_000, 99_000..<100_000, 10..<11, 50_000..<60_000] {
            try access.reader.read(Int64(range.lowerBound)..<Int64(range.upperBound), into: &block)
            #expect(block.frameCount == range.count && block.position == Int64(range.lowerBound))
            let wanted = try sweep.cut(range).samples(channel: 0).map { Int16($0 * 32_768) }
            #expect(block.samples(ofChannel: 0, as: Int16.self) == wanted)
        }
        try access.reader.read(10..<10, into: &block)
        #expect(block.frameCount == 0)
    }

    // MARK: Blocks

    @Test func blocksLendTheirPlanes() throws {
        var block = try SampleBlock()
        for format in [SampleFormat.s32, .s32Planar] {
            try block.reserve(
                3,
                SampleShape(format: format, sampleRateHz: 8_000, channelCount: 2, channelMask: 0)
            )
            for plane in 0..<block.planeCount {
                block.withMutablePlane(plane) { bytes in
                    let samples = bytes.bindMemory(to: Int32.self)
                    for place in samples.indices { samples[place] = Int32(10 * plane + place) }
                }
            }
            let first = block.withSamples(as: Int32.self) { Array($0) }
            #expect(first == (format.isPlanar ? [0, 1, 2] : [0, 1, 2, 3, 4, 5]))
            let right = block.samples(ofChannel: 1, as: Int32.self)
            #expect(right == (format.isPlanar ? [10, 11, 12] : [1, 3, 5]))
            #expect(block.withSamples(as: Float.self) { $0.count } == nil)
            #expect(block.withSamples(as: Int32.self, plane: 2) { $0.count } == nil)
            #expect(block.samples(ofChannel: 2, as: Int32.self) == nil)
        }
        block.clear()
        #expect(block.withSamples(as: Int32.self) { $0.count } == nil)
    }
}
