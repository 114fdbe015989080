import Conversion
import TestSupport
import Testing

@testable import Media

/// WavPack made of WAV files whose header names no speakers: its blocks state a number of channels and nothing else.
@Suite struct WavPackSpeakerTests {
    @Test(arguments: [1, 2]) func monoAndStereoNeedNoNames(channels: Int) throws {
        let folder = try TemporaryFolder.create()
        let noise = Signal.noise(seed: 12, rate: 48_000, frames: 200_001, channels: channels, amplitude: 0.4).pcm(.s16)
        let options = WAVFile.Options(isExtensible: true, leavesOutChannelMask: true)
        try WAVFile.write(noise, to: folder.path("a.wav"), options: options)
        try Run.program("wavpack", ["-q", "-y", folder.path("a.wav"), "-o", folder.path("a.wv")]).checked()
        let read = try ReadBack.file(folder.path("a.wv"))
        #expect(read.track.length == .exact(200_001) && read.track.channelCount == channels)
        let isSame = try read.pcm.samples(channel: channels - 1) == noise.samples(channel: channels - 1)
        #expect(isSame)
        // From the midst.
        let range = try MediaTimeRange(
            start: MediaTime(frames: 150_000, rate: 48_000),
            end: MediaTime(frames: 150_500, rate: 48_000)
        )
        let part = try ReadBack.file(folder.path("a.wv"), [range]).pcm.samples(channel: 0)
        let isPart = part == Array(noise.samples(channel: 0)[150_000..<150_500])
        #expect(isPart)
        let pipe = try FilledPipe.holding(try Bytes.read(folder.path("a.wv")))
        #expect(try ReadBack(descriptor: pipe.reading).deliveredFrames == 200_001)
    }

    /// libav refuses blocks that name no speakers.
    @Test(arguments: [3, 4, 5, 6, 7, 8]) func moreChannelsWithoutSpeakersKeepTheirOrder(channels: Int) throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("a.wav"), folder.path("a.wv"))
        let noise = Signal.noise(seed: 5, rate: 48_000, frames: 60_001, channels: channels, amplitude: 0.4).pcm(.s16)
        try WAVFile.write(noise, to: wav, options: .init(isExtensible: true, leavesOutChannelMask: true))
        try Run.program("wavpack", ["-q", "-y", wav, "-o", path]).checked()
        let read = try Decoded.file(path)
        #expect(read.track.channelMask == 0 && read.shape?.channelMask == 0 && read.track.length == .exact(60_001))
        #expect(try read.pcm.converted(to: .s16) == noise && Player.wvunpack.decode(path, in: folder) == noise)
        let output = folder.path("out.wav")
        let outcome = try Converted.file(path, to: output, as: AudioFormat(container: .wav), verifies: true)
        #expect(try outcome.remarks.isEmpty && WAVFile.read(path: output) == noise)
    }

    /// Regression: libav took such blocks for damaged.
    @Test(arguments: [(4, [4, 0]), (2, [1, 0])] as [(Int, [UInt8])])
    func maskOfOtherChannelsCountsAsNone(shape: (channels: Int, mask: [UInt8])) throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("a.wav"), folder.path("a.wv"))
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 60_001, channels: shape.channels, amplitude: 0.4)
        let pcm = noise.pcm(.s16)
        try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true))
        // Behind the heads of the file and of the chunk, and 20 bytes of the shape.
        try Bytes.overwrite(wav, at: 40, with: shape.mask + [0, 0])
        try Run.program("wavpack", ["-q", "-y", wav, "-o", path]).checked()
        let read = try Decoded.file(path)
        #expect(try read.pcm.converted(to: .s16) == pcm && Player.wvunpack.decode(path, in: folder) == pcm)
        #expect(read.track.length == .exact(60_001) && (read.track.channelMask == 0) == (shape.channels > 2))
        let pipe = try FilledPipe.holding(Bytes.read(path))
        #expect(try Decoded.descriptor(pipe.reading).pcm == read.pcm)
    }

    /// libav returns to the start of a block of several channels, and of an unusual rate.
    @Test(arguments: [(1, 48_000), (2, 48_000), (6, 48_000), (2, 47_999), (6, 96_000)], [true, false])
    func pipeSoundsAsTheFile(shape: (channels: Int, rate: Int), isNamed: Bool) throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("a.wav"), folder.path("a.wv"))
        let noise = Signal.noise(seed: 6, rate: shape.rate, frames: 60_001, channels: shape.channels, amplitude: 0.4)
        let pcm = noise.pcm(.s16)
        try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true, leavesOutChannelMask: !isNamed))
        try Run.program("wavpack", ["-q", "-y", wav, "-o", path]).checked()
        let whole = try Decoded.file(path)
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let read = try Decoded.descriptor(pipe.reading)
        #expect(read.pcm == whole.pcm && read.pcm.converted(to: .s16) == pcm)
        #expect(read.track.channelMask == whole.track.channelMask && read.track.length == whole.track.length)
    }
}
