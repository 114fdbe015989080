import Conversion
import TestSupport
import Testing

@testable import Media

/// A file in a rare format, and its contents.
struct RareCase: Sendable, CustomTestStringConvertible {
    let name: String
    let codec: String
    let rate: Int
    let channels: Int
    let frames: Int
    let bytes: @Sendable () -> [UInt8]

    init(
        _ name: String,
        _ codec: String,
        _ rate: Int,
        channels: Int = 1,
        frames: Int,
        _ bytes: @escaping @Sendable () -> [UInt8]
    ) {
        (self.name, self.codec, self.rate, self.channels) = (name, codec, rate, channels)
        (self.frames, self.bytes) = (frames, bytes)
    }

    var testDescription: String { name }

    static let all: [RareCase] =
        [1, 2].flatMap { channels in
            [
                RareCase("mace3-\(channels).aifc", "mace3", 22_050, channels: channels, frames: 6 * 4_001) {
                    RareFile.aifc(coding: "MAC3", channels: channels, packets: 4_001, packetBytes: 2)
                },
                RareCase("mace6-\(channels).aifc", "mace6", 22_050, channels: channels, frames: 6 * 4_001) {
                    RareFile.aifc(coding: "MAC6", channels: channels, packets: 4_001, packetBytes: 1)
                },
            ]
        } + [
            RareCase("at3.wav", "atrac3", 44_100, channels: 2, frames: 50 * 1_024) { RareFile.atrac3(frames: 50) },
            RareCase("a.qcp", "qcelp", 8_000, frames: 200 * 160) { RareFile.qcp(frames: 200, hasBlanks: false) },
            RareCase("g729.wav", "g729", 8_000, frames: 300 * 80) { RareFile.g729(frames: 300) },
            RareCase("a.bit", "g729", 8_000, frames: 300 * 80) { RareFile.g729Bits(frames: 300) },
            // The first two frames of Cook only fill the decoder's buffer.
            RareCase("cook.rm", "cook", 22_050, frames: (1_600 - 2) * 512) { RealMediaFile.bytes(.cook, groups: 10) },
            RareCase("sipr.rm", "sipr", 8_000, frames: 20 * 6 * 8 * 288) { RealMediaFile.bytes(.sipr, groups: 20) },
            RareCase("28.rm", "ra_288", 8_000, frames: 12 * 12 * 6 * 160) { RealMediaFile.bytes(.lpc, groups: 12) },
        ]
}

/// Rare formats: their sound is exact to the frame and the sample, and truncated files are detected.
@Suite struct RareFormatsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: RareCase.all) func soundIsReadWhole(test: RareCase) throws {
        let path = folder.path(test.name)
        try Bytes.write(test.bytes(), to: path)
        let read = try ReadBack.file(path)
        let pcm = try read.pcm
        #expect(read.track.codecName == test.codec && read.damage.isEmpty)
        #expect(pcm.rate == test.rate && pcm.channels == test.channels && pcm.frames == test.frames)
        let reference = try FFmpeg.decode(path, to: pcm.format)
        let ratios = pcm == reference ? [] : try pcm.snr(against: reference)
        #expect(pcm == reference, "\(ratios)")
        #expect(pcm.rms.allSatisfy { $0 > 0.001 }, "\(pcm.rms)")
    }

    @Test(arguments: [("a.aifc", "a.mov"), ("at3.wav", "a.oma")]) func soundIsTheSameInAnotherContainer(
        names: (String, String)
    )
        throws
    {
        let (source, path) = (folder.path(names.0), folder.path(names.1))
        let isMACE = names.0 == "a.aifc"
        try Bytes.write(
            isMACE
                ? RareFile.aifc(coding: "MAC6", channels: 2, packets: 4_001, packetBytes: 1)
                : RareFile.atrac3(frames: 50),
            to: source
        )
        try FFmpeg.encode(source, to: path, ["-c", "copy"])
        let read = try ReadBack.file(path)
        #expect(try read.damage.isEmpty && read.pcm == ReadBack.file(source).pcm)
    }

    /// SoX counts the byte that pads an odd number of blocks as sound.
    /// Regression: libav took fewer than 32 frames for MPEG-TS.
    @Test(arguments: [8, 10, 31, 32]) func aFewFramesOfGSMAreRecognised(frames: Int) throws {
        let (source, path) = (folder.path("in.wav"), folder.path("a.gsm"))
        try WAVFile.write(Signal.sweep(rate: 8_000, frames: frames * 160).pcm(.s16), to: source)
        try Run.program("sox", [source, path]).checked()
        let heard = try Player.sox.decode(path, in: folder)
        let (read, pipe) = (try Decoded.file(path), try FilledPipe.holding(Bytes.read(path)))
        #expect(read.frames == frames * 160 && heard.frames == read.frames && read.damage.isEmpty)
        #expect(try read.pcm.converted(to: .s16).snr(against: heard).min()! > 30)
        #expect(try Decoded.descriptor(pipe.reading).pcm == read.pcm)
    }

    @Test(arguments: [8_000, 8_320]) func gsmOfSoXIsReadWhole(frames: Int) throws {
        let (source, path) = (folder.path("in.wav"), folder.path("gsm.wav"))
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: frames).pcm(.s16), to: source)
        try Run.program("sox", [source, "-e", "gsm-full-rate", path]).checked()
        let read = try ReadBack.file(path)
        #expect(try read.damage.isEmpty && read.pcm == FFmpeg.decode(path, to: read.pcm.format))
    }

    // MARK: Lossless

    @Test(arguments: ["a.thd", "a.mkv", "a.mp4", "a.m2ts"], [(2, 16), (2, 24), (6, 24)])
    func trueHDHasTheSamplesThatWereWritten(name: String, shape: (channels: Int, bits: Int)) throws {
        let signal = Signal.sweep(rate: 48_000, frames: 50_123, channels: shape.channels)
        let clip = signal.pcm(shape.bits == 16 ? .s16 : .s24)
        let path = folder.path(name)
        let m2ts = name == "a.m2ts" ? ["-mpegts_m2ts_mode", "1"] : []
        try FFmpeg.encode(clip, to: path, ["-c:a", "truehd", "-strict", "-2"] + m2ts)
        let read = try ReadBack.file(path)
        let pcm = try read.pcm
        #expect(read.track.codecName == "truehd" && read.damage.isEmpty && pcm.frames == 50_123)
        #expect(pcm == signal.pcm(pcm.format, significantBits: shape.bits))
    }

    /// MLP does not state where the sound ends within its last unit of 40 frames.
    @Test(arguments: ["a.mlp", "m.mkv"], [2, 6]) func mlpHasTheSamplesThatWereWritten(name: String, channels: Int)
        throws
    {
        let signal = Signal.sweep(rate: 48_000, frames: 50_123, channels: channels)
        let path = folder.path(name)
        try FFmpeg.encode(signal.pcm(.s24), to: path, ["-c:a", "mlp", "-strict", "-2"])
        let pcm = try ReadBack.file(path).pcm
        #expect(pcm.frames == 50_160)
        #expect(try pcm.cut(0..<50_123) == signal.pcm(pcm.format, significantBits: 24))
    }

    @Test(arguments: [1, 2]) func dsdiffIsTheSameAsDSF(channels: Int) throws {
        let tone = Signal.tone(1_000, rate: 2_822_400, frames: 282_240, channels: channels)
        let (path, other) = (folder.path("a.dff"), folder.path("a.dsf"))
        try Bytes.write(RareFile.dsdiff(tone), to: path)
        try Bytes.write(CraftedFile.dsf(tone), to: other)
        let read = try ReadBack.file(path)
        #expect(read.track.sampleRateHz == 352_800 && read.track.length == .exact(35_280))
        let pcm = try read.pcm
        #expect(try pcm == FFmpeg.decode(path, to: .f32) && pcm.frames == 35_280 && pcm.channels == channels)
        // At the start, libav fills its filter with a different pattern of silence.
        let common = 100..<35_280
        #expect(try pcm.cut(common) == ReadBack.file(other).pcm.cut(common))
    }

    /// Nothing in a bare stream shows that more was to follow.
    @Test(arguments: ["a.thd", "a.mlp"]) func partialUnitIsLeftOut(name: String) throws {
        let signal = Signal.sweep(rate: 48_000, frames: 50_123, channels: 2)
        let path = folder.path(name)
        try FFmpeg.encode(signal.pcm(.s16), to: path, ["-c:a", name == "a.thd" ? "truehd" : "mlp", "-strict", "-2"])
        // Units have whole words, so an odd number of bytes ends within one.
        try Bytes.truncate(path, to: Int(Double(Bytes.size(of: path)) * 0.6) | 1)
        let outcome = try Converted.file(path, to: folder.path("a.wav"), as: AudioFormat(container: .wav))
        let pcm = try WAVFile.read(path: folder.path("a.wav"))
        #expect(outcome.remarks.map(\.kind) == [.partialFrame])
        #expect(pcm.frames % 40 == 0 && pcm.frames > 20_000)
        #expect(try pcm.converted(to: .s16) == signal.pcm(.s16).cut(0..<pcm.frames))
    }

    // MARK: Odd places

    /// A frame of silence has no bytes, which libav's decoder does not accept.
    @Test func blankFramesOfQCELPAreTimeToo() throws {
        let path = folder.path("a.qcp")
        try Bytes.write(RareFile.qcp(frames: 200, hasBlanks: true), to: path)
        let read = try ReadBack.file(path)
        #expect(try read.pcm.frames == 200 * 160 && read.damage.isEmpty)
    }

    @Test(arguments: [
        "mace3-1.aifc", "at3.wav", "a.qcp", "g729.wav", "cook.rm", "sipr.rm", "28.rm", "a.dff", "a.mmf",
        "a.rm",
        "ac3.rm", "ms.wav", "gsm.wav", "ima.aifc", "a.8svx",
    ]) func cutFilesAreTruncated(name: String) throws {
        let path = folder.path(name)
        try make(name, path)
        #expect(try ReadBack.file(path).damage.isEmpty)
        let size = try Bytes.size(of: path)
        // libav ends RealMedia with eight zero bytes.
        for cut in [size - (name.hasSuffix(".rm") ? 40 : 3), size * 3 / 5] {
            try Bytes.truncate(path, to: cut)
            let error = #expect(throws: MediaError.self) { try ReadBack.file(path) }
            #expect(error?.code == .truncated, "\(cut) of \(size): \(String(describing: error))")
        }
    }

    private func make(_ name: String, _ path: String) throws {
        if let test = RareCase.all.first(where: { $0.name == name }) { return try Bytes.write(test.bytes(), to: path) }
        let clip = Signal.sweep(rate: 8_000, frames: 40_000).pcm(.s16)
        switch name {
        case "a.dff": try Bytes.write(RareFile.dsdiff(.tone(1_000, rate: 2_822_400, frames: 282_240)), to: path)
        case "ac3.rm": try FFmpeg.encode(clip, to: path, ["-c:a", "ac3", "-ar", "44100"])
        case "a.rm": try FFmpeg.encode(clip, to: path, ["-c:a", "real_144"])
        case "ms.wav": try FFmpeg.encode(clip, to: path, ["-c:a", "adpcm_ms"])
        case "gsm.wav": try FFmpeg.encode(clip, to: path, ["-c:a", "libgsm_ms"])
        case "ima.aifc": try FFmpeg.encode(clip, to: path, ["-f", "aiff", "-c:a", "adpcm_ima_qt"])
        case "a.mmf": try FFmpeg.encode(clip, to: path, ["-ar", "22050"])
        default:
            try WAVFile.write(clip, to: folder.path("in.wav"))
            try Run.program("sox", ["-D", folder.path("in.wav"), "-b", "8", path]).checked()
        }
    }

    /// A download that lacks only its last packet. The header counts it.
    @Test func realMediaWithoutItsLastPacketIsTruncated() throws {
        let path = folder.path("a.rm")
        try FFmpeg.encode(Signal.sweep(rate: 8_000, frames: 40_000).pcm(.s16), to: path, ["-c:a", "real_144"])
        let bytes = try Bytes.read(path)
        let data = try #require(Bytes.find("DATA", in: bytes))
        // The twelve-byte header of each packet states the packet's size.
        let count = try Bytes.big(UInt32.self, in: bytes, at: data + 10)
        var last = data + 18
        for _ in 1..<count { last += Int(try Bytes.big(UInt16.self, in: bytes, at: last + 2)) }
        try Bytes.truncate(path, to: last)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .truncated)
    }
}
