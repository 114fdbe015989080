import Conversion
import TestSupport
import Testing

@testable import Media

/// Headers that libav would write differently if it only knew the container.
struct OutputHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [PCM.SampleFormat.u8, .s16, .s24, .s32])
    func aifcIsNeverPlainAIFF(format: PCM.SampleFormat) throws {
        let pcm = Signal.sweep(rate: 44_100, frames: 999, channels: 2).pcm(format)
        let (source, target) = (folder.path("source.wav"), folder.path("target.aifc"))
        try WAVFile.write(pcm, to: source)
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(target)
        let request = Converter.Request(format: AudioFormat(container: .aifc), verifies: true)
        _ = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        #expect(try Array(Bytes.read(target)[8..<12]) == Array("AIFC".utf8))
        #expect(try FFmpeg.decode(target, to: format).bytes == pcm.bytes)
    }

    /// FLAC assigns a layout to every channel count, and WavPack requires one.
    @Test(arguments: [Container.flac, .wavpack])
    func channelsWithoutSpeakersGetTheUsualOnesWhereThereHaveToBeSome(container: Container) throws {
        let output = try convertedDiscrete(AudioFormat(container: container, layout: .discrete(5)))
        #expect(try Reader(descriptor: output.descriptor).track().channelMask != 0)
    }

    @Test(arguments: [Container.wav, .w64, .aiff, .aifc, .caf, .au, .mka])
    func channelsWithoutSpeakersGetNone(container: Container) throws {
        let output = try convertedDiscrete(AudioFormat(container: container, codec: .pcm, layout: .discrete(5)))
        let track = try Reader(descriptor: output.descriptor).track()
        #expect(track.channelCount == 5)
        #expect(track.channelMask == 0)
    }

    /// Five tones, converted and verified. `ffmpeg` must find the same samples.
    private func convertedDiscrete(_ format: AudioFormat) throws -> OpenFile {
        let pcm = Signal.stacked((1...5).map { Signal.tone(Double($0 * 100), rate: 8000, frames: 900) }).pcm(.s16)
        let (source, target) = (folder.path("source.wav"), folder.path("target"))
        try WAVFile.write(pcm, to: source)
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(target)
        let request = Converter.Request(format: format, verifies: true)
        _ = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        #expect(try FFmpeg.decode(target).bytes == pcm.bytes)
        return output
    }
}
