import Conversion
import TestSupport
import Testing

@testable import Media

/// Speex in Ogg, compared with `speexdec`. libav leaves the encoder's delay and padding in.
@Suite struct SpeexTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(
        arguments: [
            (8_000, 1, "-n"), (16_000, 1, "-w"), (32_000, 1, "-u"), (16_000, 2, "-w"), (16_000, 1, "-w --nframes 3"),
            (8_000, 1, "-n --vbr --dtx"), (16_000, 1, "-w --quality 9"),
        ],
        [1_600, 50_123, 80_000]
    )
    func soundIsTheReferenceDecoders(kind: (rate: Int, channels: Int, options: String), frames: Int) throws {
        let clip = Signal.sweep(
            to: Double(kind.rate) / 8,
            rate: kind.rate,
            frames: frames,
            channels: kind.channels
        ).pcm(.s16)
        let (source, path) = (folder.path("in.wav"), folder.path("a.spx"))
        try WAVFile.write(clip, to: source)
        let options = kind.options.split(separator: " ").map(String.init)
        try Run.program("speexenc", ["--quiet"] + options + [source, path]).checked()
        let read = try ReadBack.file(path)
        let pcm = try read.pcm.converted(to: .s16)
        #expect(read.track.codecName == "speex" && read.damage.isEmpty)
        // A single-page stream does not state where it begins, so libav plays all of it.
        guard frames > 30_000 else {
            // Its own decoder, which ffmpeg 7.1 prefers, gives other frames than libspeex, which Media uses.
            return #expect(try FFmpeg.decode(path, inputArguments: ["-c:a", "libspeex"]).frames == pcm.frames)
        }
        #expect(read.track.length == .exact(Int64(frames)) && pcm.frames == frames)
        let heard = try Player.speexdec.decode(path, in: folder)
        try #require(heard.channels == pcm.channels)
        // `speexdec` drops its decoder's delay and appends the same number of frames at the end.
        let late = kind.rate / 200
        let common = frames - 1_000
        #expect(try pcm.cut(late..<late + common).snr(against: heard.cut(0..<common)).min()! > 60)
    }

    @Test func cutFileIsTruncated() throws {
        let path = folder.path("a.spx")
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 160_000).pcm(.s16), to: folder.path("in.wav"))
        try Run.program("speexenc", ["--quiet", "-w", folder.path("in.wav"), path]).checked()
        try Bytes.truncate(path, toFraction: 0.6)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }
}

/// Formats of speech corpora and old recorders, written by SoX.
@Suite struct SoxFormatsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [
        "a.sph", "a.sf", "a.sox", "a.voc", "mu.sph -e u-law", "al.sph -e a-law", "mu.sf -e u-law", "s8.voc -b 8",
        "a.8svx -b 8",
    ])
    func samplesAreThose(of line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let path = folder.path(words[0])
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 40_000, channels: 1).pcm(.s16), to: folder.path("in.wav"))
        try Run.program("sox", ["-D", folder.path("in.wav")] + words.dropFirst() + [path]).checked()
        let read = try ReadBack.file(path)
        let heard = try Player.sox.decode(path, in: folder)
        let pcm = try read.pcm.converted(to: .s16)
        #expect(read.damage.isEmpty)
        // SoX states the length of its own 16-bit block eight bytes too short.
        let common = 0..<min(pcm.frames, heard.frames)
        #expect(abs(pcm.frames - heard.frames) <= (words[0] == "a.voc" ? 4 : 0) && common.count > 39_990)
        #expect(try pcm.cut(common).snr(against: heard.cut(common)).min()! > 90)
    }

    @Test(arguments: ["a.sph", "a.sox", "a.avi", "a.flv"]) func cutFilesAreTruncated(name: String) throws {
        let path = folder.path(name)
        try WAVFile.write(Signal.sweep(rate: 16_000, frames: 40_000, channels: 1).pcm(.s16), to: folder.path("in.wav"))
        if ["a.avi", "a.flv"].contains(name) {
            try FFmpeg.encode(folder.path("in.wav"), to: path, ["-c:a", "pcm_s16le", "-ar", "44100"])
        } else {
            try Run.program("sox", [folder.path("in.wav"), path]).checked()
        }
        try Bytes.truncate(path, toFraction: 0.6)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }
}
