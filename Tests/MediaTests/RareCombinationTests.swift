import Conversion
import TestSupport
import Testing

@testable import Media

/// Codecs in containers that rarely hold them, as libav writes them.
@Suite struct RareCombinationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func clip(_ frames: Int, rate: Int, to name: String, _ arguments: [String]) throws -> PCM {
        let clip = Signal.noise(seed: 3, rate: rate, frames: frames).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path(name), arguments)
        return clip
    }

    /// The edit list begins behind the first packet, which gives no frame: the sound must not be cut by its length. In
    /// Ogg the same packets have no edit list.
    @Test(arguments: [8_000, 22_050, 44_100, 48_000], [30_000, 44_100]) func vorbisInMP4IsWhole(rate: Int, frames: Int)
        throws
    {
        _ = try clip(frames, rate: rate, to: "a.ogg", ["-c:a", "libvorbis", "-q:a", "6"])
        _ = try clip(frames, rate: rate, to: "a.mp4", ["-c:a", "libvorbis", "-q:a", "6", "-strict", "-2"])
        let ogg = try Decoded.file(folder.path("a.ogg"))
        #expect(ogg.frames == frames)
        let decoded = try Decoded.file(folder.path("a.mp4"))
        #expect(decoded.damage.isEmpty && decoded.frames == frames)
        #expect(decoded.pcm == ogg.pcm)
        // The other copies ffmpeg itself refuses, because their first packet has a negative length.
        guard rate < 44_100 else { return }
        try FFmpeg.run(["-i", folder.path("a.ogg"), "-c", "copy", "-strict", "-2", folder.path("copy.mp4")])
        let copy = try Decoded.file(folder.path("copy.mp4"))
        #expect(try copy.pcm.cut(0..<frames) == ogg.pcm)
    }

    /// An MP4 that is written in one go has its index at its end.
    @Test(arguments: [false, true]) func mp4InAPipeNeedsItsIndexInFront(isInFront: Bool) throws {
        let flags = ["-c:a", "aac", "-b:a", "256k"] + (isInFront ? ["-movflags", "+faststart"] : [])
        let clip = try clip(400_000, rate: 44_100, to: "a.m4a", flags)
        let bytes = try Bytes.read(folder.path("a.m4a"))
        let pipe = try FilledPipe.holding(bytes)
        if isInFront {
            _ = try Reader(descriptor: pipe.reading)
        } else {
            do {
                _ = try Reader(descriptor: pipe.reading)
                Issue.record("an MP4 whose index is behind its sound was opened in a pipe")
            } catch let error as MediaError {
                #expect(error.code == .sourceNotSeekable && error.stage == .open)
                #expect(error.hint?.contains("faststart") == true)
            }
        }
        #expect(try Decoded.file(folder.path("a.m4a")).frames == clip.frames)
    }
}
