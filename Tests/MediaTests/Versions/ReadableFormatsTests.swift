import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// A file that `ffmpeg` makes of a clip, and the expected result of reading it.
struct ReadCase: Sendable, CustomTestStringConvertible {
    /// How closely the samples must match those that `ffmpeg` decodes from the same file.
    enum Likeness: Sendable {
        /// The same samples.
        case same
        /// As close as two implementations of the same arithmetic: at least this many dB.
        case near(Double)
    }

    /// The expected number of frames.
    enum Count: Sendable {
        /// As many as were encoded.
        case original
        /// As many as `ffmpeg` finds: the format cannot state the number more precisely.
        case reference
        /// As many as the container states. `ffmpeg` plays the last packet whole.
        case stated
        /// As many as were encoded, behind 1,024 of priming that the format cannot state.
        case primed
    }

    let name: String
    let arguments: [String]
    let codec: String
    let likeness: Likeness
    let count: Count
    let rate: Int
    let channels: Int
    let format: PCM.SampleFormat

    init(
        _ name: String,
        _ arguments: String,
        _ codec: String,
        _ likeness: Likeness = .same,
        count: Count = .original,
        rate: Int = 44_100,
        channels: Int = 2,
        format: PCM.SampleFormat = .s16
    ) {
        self.name = name
        self.arguments = arguments.split(separator: " ").map(String.init)
        self.codec = codec
        self.likeness = likeness
        self.count = count
        self.rate = rate
        self.channels = channels
        self.format = format
    }

    var testDescription: String { "\(name) \(arguments.joined(separator: " ")) \(channels) x \(rate) Hz" }

    static let pcm: [ReadCase] = [
        ReadCase("a.wav", "", "pcm_s16le", rate: 35_467), ReadCase("u8.wav", "-c:a pcm_u8", "pcm_u8", format: .u8),
        ReadCase("s24.wav", "-c:a pcm_s24le", "pcm_s24le", channels: 8, format: .s24),
        ReadCase("s32.wav", "-c:a pcm_s32le", "pcm_s32le", rate: 192_000, channels: 1, format: .s32),
        ReadCase("f32.wav", "-c:a pcm_f32le", "pcm_f32le", channels: 6, format: .f32),
        ReadCase("f64.wav", "-c:a pcm_f64le", "pcm_f64le", format: .f64),
        ReadCase("mu.wav", "-c:a pcm_mulaw", "pcm_mulaw", rate: 8_000, channels: 1),
        ReadCase("al.wav", "-c:a pcm_alaw", "pcm_alaw", rate: 8_000, channels: 1),
        ReadCase("rf64.wav", "-rf64 always", "pcm_s16le"),
        ReadCase("a.w64", "-c:a pcm_s24le", "pcm_s24le", count: .reference, format: .s24),
        ReadCase("a.aiff", "", "pcm_s16be"), ReadCase("s8.aiff", "-c:a pcm_s8", "pcm_s8", format: .u8),
        ReadCase("sowt.aifc", "-f aiff -c:a pcm_s16le", "pcm_s16le"),
        ReadCase("f64.aiff", "-c:a pcm_f64be", "pcm_f64be", format: .f64),
        ReadCase("be.caf", "-c:a pcm_s16be", "pcm_s16be"),
        ReadCase("le.caf", "-c:a pcm_f32le", "pcm_f32le", format: .f32),
        ReadCase("a.au", "-c:a pcm_s24be", "pcm_s24be", format: .s24), ReadCase("mu.au", "-c:a pcm_mulaw", "pcm_mulaw"),
        ReadCase("a.mov", "-c:a pcm_s24be", "pcm_s24be", format: .s24),
        ReadCase("f.mov", "-c:a pcm_f32le", "pcm_f32le", format: .f32),
        ReadCase("a.mka", "-c:a pcm_s16le", "pcm_s16le"),
        ReadCase("pcm.avi", "-c:a pcm_s16le", "pcm_s16le"), ReadCase("mu.avi", "-c:a pcm_mulaw", "pcm_mulaw"),
        ReadCase("a.voc", "-c:a pcm_s16le", "pcm_s16le"),
        ReadCase("u8.voc", "-c:a pcm_u8", "pcm_u8", rate: 8_000, channels: 1, format: .u8),
        ReadCase("pcm.flv", "-c:a pcm_s16le", "pcm_s16le"),
        ReadCase("dvd.vob", "-c:a pcm_dvd", "pcm_dvd", rate: 48_000),
        ReadCase("a.sox", "-c:a pcm_s32le", "pcm_s32le", format: .s32),
    ]

    static let lossless: [ReadCase] = [
        ReadCase("a.flac", "", "flac", channels: 8),
        ReadCase("s24.flac", "-sample_fmt s32", "flac", rate: 96_000, format: .s24),
        ReadCase("f.ogg", "-c:a flac", "flac"), ReadCase("f.mka", "-c:a flac", "flac"),
        ReadCase("f.mp4", "-c:a flac -strict -2", "flac"),
        ReadCase("a.m4a", "-c:a alac", "alac"), ReadCase("s24.m4a", "-c:a alac -sample_fmt s32p", "alac", format: .s24),
        ReadCase("a.mov", "-c:a alac", "alac"), ReadCase("a.caf", "-c:a alac", "alac"),
        ReadCase("a.wv", "", "wavpack"), ReadCase("f.wv", "-sample_fmt fltp", "wavpack", format: .f32),
        ReadCase("w.mka", "-c:a wavpack", "wavpack"),
        ReadCase("a.tta", "", "tta"),
    ]

    static let lossy: [ReadCase] = [
        ReadCase("a.mp3", "", "mp3"), ReadCase("n.mp3", "-write_xing 0", "mp3", count: .reference),
        ReadCase("low.mp3", "-b:a 32k", "mp3", count: .reference, rate: 22_050, channels: 1),
        ReadCase("m.mka", "-c:a libmp3lame", "mp3", count: .reference),
        ReadCase("m.mp4", "-c:a libmp3lame", "mp3"), ReadCase("m.mov", "-c:a libmp3lame", "mp3"),
        ReadCase("a.mp2", "", "mp2", .near(60), count: .reference, rate: 48_000),
        ReadCase("a.m4a", "", "aac"), ReadCase("a.aac", "", "aac", count: .reference),
        ReadCase("aac.mka", "-c:a aac", "aac", count: .reference),
        ReadCase("mono.m4a", "", "aac", rate: 16_000, channels: 1),
        ReadCase("six.m4a", "", "aac", rate: 48_000, channels: 6),
        ReadCase(
            "frag.mp4",
            "-c:a aac -movflags frag_keyframe+empty_moov -frag_duration 300000",
            "aac",
            count: .primed
        ),
        ReadCase("a.ts", "-c:a aac", "aac", count: .reference),
        ReadCase("latm.ts", "-c:a aac -mpegts_flags latm", "aac_latm", count: .reference),
        ReadCase("a.ac3", "", "ac3", count: .reference, rate: 48_000),
        ReadCase("six.ac3", "", "ac3", count: .reference, rate: 48_000, channels: 6),
        ReadCase("a.eac3", "", "eac3", count: .reference, rate: 48_000),
        ReadCase("e.mp4", "-c:a eac3 -movie_timescale 48000", "eac3", count: .stated, rate: 48_000),
        ReadCase("dts.ts", "-c:a dca -strict -2", "dts", count: .reference, rate: 48_000),
        ReadCase("a.dts", "-c:a dca -strict -2", "dts", count: .reference, rate: 48_000),
        ReadCase("d.mka", "-c:a dca -strict -2", "dts", count: .reference, rate: 48_000, channels: 6),
        ReadCase("a.ogg", "-c:a libvorbis", "vorbis"),
        ReadCase("v.webm", "-c:a libvorbis", "vorbis", count: .reference),
        ReadCase("a.opus", "-c:a libopus", "opus", rate: 48_000),
        ReadCase("o.webm", "-c:a libopus", "opus", rate: 48_000, channels: 1),
        ReadCase("o.mp4", "-c:a libopus", "opus", rate: 48_000),
        ReadCase("o.caf", "-c:a libopus", "opus", count: .reference, rate: 48_000),
        ReadCase("o.ts", "-c:a libopus", "opus", count: .reference, rate: 48_000),
        ReadCase("a.wma", "-c:a wmav2", "wmav2", count: .reference),
        ReadCase("b.wma", "-c:a wmav1", "wmav1", count: .reference),
        ReadCase("a.gsm", "-c:a libgsm", "gsm", count: .reference, rate: 8_000, channels: 1),
        ReadCase("g.wav", "-c:a libgsm_ms", "gsm_ms", count: .reference, rate: 8_000, channels: 1),
        ReadCase("ima.wav", "-c:a adpcm_ima_wav", "adpcm_ima_wav", count: .reference),
        ReadCase("ms.wav", "-c:a adpcm_ms", "adpcm_ms", count: .reference),
        ReadCase("g726.wav", "-c:a g726 -b:a 32k", "adpcm_g726", count: .reference, rate: 8_000, channels: 1),
        ReadCase("g722.wav", "-c:a g722", "adpcm_g722", count: .reference, rate: 16_000, channels: 1),
        ReadCase("mp3.wav", "-c:a libmp3lame", "mp3", count: .reference),
        ReadCase("y.wav", "-c:a adpcm_yamaha", "adpcm_yamaha", count: .reference),
        ReadCase("mp3.avi", "-c:a libmp3lame", "mp3", count: .reference),
        ReadCase("mp2.avi", "-c:a mp2", "mp2", .near(60), count: .reference, rate: 48_000),
        ReadCase("ac3.avi", "-c:a ac3", "ac3", count: .reference, rate: 48_000),
        ReadCase("aac.avi", "-c:a aac", "aac", count: .reference),
        ReadCase("ms.avi", "-c:a adpcm_ms", "adpcm_ms", count: .reference),
        ReadCase("ima.avi", "-c:a adpcm_ima_wav", "adpcm_ima_wav", count: .reference),
        ReadCase("mp3.flv", "-c:a libmp3lame", "mp3", count: .reference),
        ReadCase("aac.flv", "-c:a aac", "aac", count: .reference),
        ReadCase("swf.flv", "-c:a adpcm_swf", "adpcm_swf", count: .reference),
        ReadCase("nelly.flv", "-c:a nellymoser", "nellymoser", count: .reference, channels: 1),
        ReadCase("a.rm", "-c:a real_144", "ra_144", count: .reference, rate: 8_000, channels: 1),
        ReadCase("ac3.rm", "-c:a ac3", "ac3", count: .reference),
        ReadCase("ac3.vob", "-c:a ac3", "ac3", count: .reference, rate: 48_000, channels: 6),
        ReadCase("dts.vob", "-c:a dca -strict -2", "dts", count: .reference, rate: 48_000),
        ReadCase("mp2.mpg", "-c:a mp2", "mp2", .near(60), count: .reference),
        ReadCase("mp3.mpg", "-c:a libmp3lame", "mp3", count: .reference),
        ReadCase("a.mmf", "-c:a adpcm_yamaha", "adpcm_yamaha", count: .reference, rate: 22_050, channels: 1),
    ]
}

/// Every promised format is readable, with the same sound as `ffmpeg` finds in the file.
@Suite struct ReadableFormatsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let frames = 50_123

    @Test(arguments: ReadCase.pcm + ReadCase.lossless + ReadCase.lossy) func soundIsReadWhole(test: ReadCase) throws {
        let clip = Signal.sweep(
            to: Double(test.rate) * 0.25,
            rate: test.rate,
            frames: Self.frames,
            channels: test.channels
        )
        let path = folder.path(test.name)
        try FFmpeg.encode(clip.pcm(test.format), to: path, test.arguments)
        try check(path, test.codec, test.likeness, test.count, test.rate, test.channels)
    }

    private func check(
        _ path: String,
        _ codec: String,
        _ likeness: ReadCase.Likeness,
        _ count: ReadCase.Count,
        _ rate: Int,
        _ channels: Int
    ) throws {
        let read = try ReadBack.file(path)
        let pcm = try read.pcm
        let reference = try FFmpeg.decode(path, to: pcm.format)
        #expect(read.track.codecName == codec)
        #expect(read.track.sampleRateHz == rate && read.track.channelCount == channels)
        #expect(read.damage.isEmpty && read.deliveredFrames == pcm.frames)
        switch count {
        case .original: #expect(pcm.frames == Self.frames)
        case .primed: #expect(pcm.frames == Self.frames + 1_024)
        case .reference: #expect(pcm.frames == reference.frames)
        case .stated:
            let stated = try #require(FFmpeg.probe(path).audio.first?.duration)
            #expect(pcm.frames == stated && (reference.frames - 1_536...reference.frames).contains(stated))
        }
        let common = min(pcm.frames, reference.frames)
        let (mine, theirs) = (try pcm.cut(0..<common), try reference.cut(0..<common))
        switch likeness {
        case .same:
            let ratios = mine == theirs ? [] : try mine.snr(against: theirs)
            #expect(mine == theirs, "\(ratios)")
        case .near(let floor): #expect(try mine.snr(against: theirs).min()! > floor)
        }
    }

    /// The sound of video files. `codec` is that of both audio tracks.
    @Test(
        arguments: [
            ("v.mp4", "-c:v mpeg4 -c:a aac", "aac"), ("v.mov", "-c:v mjpeg -c:a pcm_s16le", "pcm_s16le"),
            ("v.mkv", "-c:v ffv1 -c:a libvorbis", "vorbis"), ("v.webm", "-c:v libvpx -c:a libopus", "opus"),
            ("v.ts", "-c:v mpeg2video -c:a mp2", "mp2"), ("h.ts", "-c:v libx264 -c:a aac", "aac"),
            ("v.wmv", "-c:v wmv2 -c:a wmav2", "wmav2"), ("v.ogg", "-c:v libtheora -c:a libvorbis", "vorbis"),
            ("h.mp4", "-c:v libx264 -c:a ac3 -movflags +faststart", "ac3"),
            ("v.mpg", "-c:v mpeg1video -r 25 -c:a mp2", "mp2"), ("v.vob", "-c:v mpeg2video -r 25 -c:a ac3", "ac3"),
        ]
    ) func soundOfVideoIsRead(name: String, arguments: String, codec: String) throws {
        let path = folder.path(name)
        try FFmpeg.run(
            [
                "-f", "lavfi", "-i", "testsrc=s=160x120:r=10:d=1.5", "-f", "lavfi", "-i", "sine=440:r=48000:d=1.5",
                "-f", "lavfi", "-i", "sine=880:r=48000:d=1.5", "-map", "0:v", "-map", "1:a", "-map", "2:a", "-ac", "2",
            ] + arguments.split(separator: " ").map(String.init) + ["-disposition:a:1", "0", path]
        )
        let first = try ReadBack.file(path)
        #expect(first.description.tracks.count == 2 && first.description.cover == nil)
        #expect(first.track.codecName == codec && first.description.mainTrack == first.track)
        let second = try ReadBack.file(path, track: first.description.tracks[1].index)
        for (number, read) in [first, second].enumerated() {
            let pcm = try read.pcm
            let reference = try FFmpeg.decode(
                path,
                to: pcm.format,
                extraArguments: ["-map", "-0:a", "-map", "0:a:\(number)"]
            )
            let common = min(pcm.frames, reference.frames)
            #expect(abs(pcm.frames - reference.frames) <= 1024, "\(pcm.frames) and \(reference.frames)")
            let ratio = try pcm.cut(0..<common).snr(against: reference.cut(0..<common)).min()!
            #expect(ratio > 60)
        }
        #expect(try first.pcm != second.pcm)
        #expect(#expect(throws: MediaError.self) { try ReadBack.file(path, track: 0) }?.code == .noSuchTrack)
    }

    /// If all sound lies on one page, libav drops the frames that it attributes to the first packet.
    @Test(arguments: [100, 5_000, 30_000]) func shortVorbisIsWhole(frames: Int) throws {
        let path = folder.path("a.ogg")
        let clip = Signal.sweep(rate: 44_100, frames: frames).pcm(.s16)
        try FFmpeg.encode(clip, to: path, ["-c:a", "libvorbis"])
        let pcm = try ReadBack.file(path).pcm
        #expect(pcm.frames == frames)
        #expect(try frames < 1_000 || pcm.bestLag(against: clip) == 0)
    }
}
