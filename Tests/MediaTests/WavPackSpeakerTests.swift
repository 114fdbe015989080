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
        // Of stereo, libav reads the first block twice.
        guard channels == 1 else { return }
        let pipe = try FilledPipe.holding(try Bytes.read(folder.path("a.wv")))
        #expect(try ReadBack(descriptor: pipe.reading).deliveredFrames == 200_001)
    }
}
