import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources that no available encoder makes: built byte by byte, or changed after encoding.
@Suite struct CraftedSourcesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [12, 20, 24, 8]) func flacOfAnyDepthKeepsItsBits(bits: Int) throws {
        let signal = Signal.ramp24(rate: 44_100, frames: 5_000, channels: 2)
        var file = FLACFile(rate: 44_100, channels: 2, bits: bits, frames: 5_000)
        file.append(signal.integers(bits: bits), rate: 44_100, bits: bits)
        let path = folder.path("a.flac")
        try Bytes.write(file.bytes, to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.bitDepth == bits && read.track.length == .exact(5_000))
        #expect(try read.pcm == signal.pcm(read.pcm.format, significantBits: bits))
        #expect(try FFmpeg.decode(path, to: read.pcm.format) == read.pcm)
    }

    @Test(arguments: [1, 2]) func dsfEndsWhereItSays(channels: Int) throws {
        // DSD64, 2.8 MHz, with an end inside a block.
        let tone = Signal.tone(1_000, rate: 2_822_400, frames: 282_240, channels: channels)
        let path = folder.path("a.dsf")
        try Bytes.write(CraftedFile.dsf(tone), to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.sampleRateHz == 352_800 && read.track.length == .exact(35_280))
        let pcm = try read.pcm
        #expect(pcm.frames == 35_280 && pcm.channels == channels)
        let reference = try FFmpeg.decode(path, to: .f32)
        #expect(try pcm == reference.cut(0..<35_280))
        #expect(abs(pcm.rms[0] * 2.0.squareRoot() - pcm.peaks[0]) < 0.05 && pcm.rms[0] > 0.1)
    }

    /// Regression: it became 16 bits, and nothing told of the rate.
    @Test(arguments: ["a.dsf", "a.dff"]) func oneBitSoundBecomes24Bits(name: String) throws {
        let tone = Signal.tone(1_000, rate: 2_822_400, frames: 282_240)
        try Bytes.write(name == "a.dsf" ? CraftedFile.dsf(tone) : RareFile.dsdiff(tone), to: folder.path(name))
        let format = AudioFormat(container: .flac)
        let whole = try Converted.file(folder.path(name), to: folder.path("a.flac"), as: format)
        #expect(whole.format.bitDepth == 24 && whole.format.sampleRateHz == 352_800)
        #expect(whole.remarks.map(\.kind) == [.oneBitDecoded])
        #expect(whole.remarks.first?.detail.contains("--rate 88200 ") == true)
        // As exact as 24 bits are.
        let found = try FFmpeg.decode(folder.path("a.flac"), to: .f32).signal
        let given = try ReadBack.file(folder.path(name)).pcm.signal
        #expect(SampleMath.greatestDifference(found.channels[0], given.channels[0]) < 2.0 / 8_388_608)

        let wish = AudioFormat(container: .flac, sampleRateHz: 88_200)
        let lower = try Converted.file(folder.path(name), to: folder.path("b.flac"), as: wish)
        #expect(lower.format.bitDepth == 24 && lower.remarks.isEmpty)
    }

    /// Regression: only whole conversions told of it.
    @Test func editedAndCutOneBitSoundIsToldOf() throws {
        let tone = Signal.tone(1_000, rate: 2_822_400, frames: 282_240)
        try Bytes.write(CraftedFile.dsf(tone), to: folder.path("a.dsf"))
        let source = try OpenFile.reading(folder.path("a.dsf"))
        let whole = try OpenFile.creating(folder.path("a.wav"))
        let first = try OpenFile.creating(folder.path("b.wav"))
        let second = try OpenFile.creating(folder.path("c.wav"))
        var piece = Piece(.source("a"))
        piece.fadeIn = Fade(MediaTime(frames: 100, rate: 1_000))
        var edited = Converter.Request(format: AudioFormat(container: .wav))
        edited.timeline = Timeline(tracks: [.init(pieces: [piece])])
        edited.inputs = [.init(name: "a", nameHint: "a.dsf")]
        let faded = try Converter(edited).run(from: [source.descriptor], to: whole.descriptor)
        #expect(faded.remarks.map(\.kind) == [.oneBitDecoded])

        let middle = MediaTime(frames: 50, rate: 1_000)
        var cut = Converter.Request(format: AudioFormat(container: .wav), nameHint: "a.dsf")
        cut.furtherFormats = [AudioFormat(container: .wav)]
        cut.outputRanges = [
            try MediaTimeRange(start: .zero, end: middle), try MediaTimeRange(start: middle, end: .positiveInfinity),
        ]
        let pieces = try Converter(cut).run(from: [source.descriptor], to: [first.descriptor, second.descriptor])
        #expect(pieces.map { $0.remarks.map(\.kind) } == [[.oneBitDecoded], [.oneBitDecoded]])
    }

    /// DTS music discs are sold and ripped as if they held PCM samples.
    @Test func dtsThatPretendsToBeSamplesIsDecoded() throws {
        let clip = Signal.sweep(rate: 44_100, frames: 40_000, channels: 2, amplitude: 0.3).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path("a.dts"), ["-c:a", "dca", "-strict", "-2", "-b:a", "1411200"])
        let bytes = Bytes.swapped(try Bytes.read(folder.path("a.dts")), width: 2)
        let path = folder.path("a.wav")
        try WAVFile.write(
            PCM(rate: 44_100, channels: 2, format: .s16, bytes: Array(bytes.prefix(bytes.count & ~3))),
            to: path
        )
        let read = try ReadBack.file(path)
        #expect(read.track.codecName == "dts")
        #expect(try read.pcm.frames == FFmpeg.decode(path).frames)
        #expect(try read.pcm.bestLag(against: clip) < 1_024)
    }

    @Test(arguments: [false, true]) func amrIsReadFrameByFrame(isWide: Bool) throws {
        let path = folder.path(isWide ? "a.awb" : "a.amr")
        try Bytes.write(CraftedFile.amr(isWide: isWide, frames: 50, seed: 5), to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.codecName == (isWide ? "amr_wb" : "amr_nb"))
        #expect(read.track.sampleRateHz == (isWide ? 16_000 : 8_000))
        #expect(try read.pcm.frames == 50 * (isWide ? 320 : 160))
        #expect(try read.pcm == FFmpeg.decode(path, to: .f32))
    }

    @Test func apeIsReadAndItsChecksumHolds() throws {
        var generator = SeededGenerator(seed: 1)
        // Most bytes make the range coder overflow. Bytes below a quarter do not.
        let payload = [UInt8](repeating: 0, count: 4) + (0..<8_000).map { _ in UInt8(generator.next() & 0x3F) }
        let path = folder.path("a.ape")
        try Bytes.write(CraftedFile.ape(rate: 44_100, frames: 1_000, payload: payload, checksum: 0), to: path)
        let reference = try FFmpeg.decode(path)
        #expect(reference.frames == 1_000 && reference.rms[0] > 0.1)
        #expect(throws: MediaError.self) { try ReadBack.file(path) }
        let checksum = CraftedFile.crc32(reference.bytes)
        try Bytes.write(CraftedFile.ape(rate: 44_100, frames: 1_000, payload: payload, checksum: checksum), to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.length == .exact(1_000))
        #expect(try read.pcm == reference)
    }

    /// libav gives whole packets, including the decoder delay.
    @Test func musepackIsReadToTheFrame() throws {
        let clip = Signal.sweep(rate: 44_100, frames: 50_123, channels: 2).pcm(.s16)
        try WAVFile.write(clip, to: folder.path("a.wav"))
        let path = folder.path("a.mpc")
        try Run.program("mpcenc", ["--silent", folder.path("a.wav"), path]).checked()
        let read = try ReadBack.file(path)
        let reference = try FFmpeg.decode(path)
        #expect(read.track.codecName == "musepack8" && read.track.length == .exact(50_123))
        #expect(read.track.primingFrames == 481)
        #expect(try read.pcm == reference.cut(481..<50_604))
        #expect(try read.pcm.bestLag(against: clip) == 0)
    }

    // MARK: Edit lists

    /// An AAC track of 50,123 frames after 1,024 frames of priming, and everything that a decoder gives for it.
    private func aac() throws -> (path: String, raw: PCM) {
        let path = folder.path("a.m4a")
        let clip = Signal.sweep(rate: 44_100, frames: 50_123, channels: 2)
        try FFmpeg.encode(clip.pcm(.s16), to: path, ["-aac_pns", "0", "-movie_timescale", "44100"])
        try FFmpeg.run(["-i", path, "-c", "copy", folder.path("a.aac")])
        return (path, try FFmpeg.decode(folder.path("a.aac"), to: .f32))
    }

    @Test func editSaysWhereTheSoundBeginsAndEnds() throws {
        let (path, raw) = try aac()
        // A priming of two packets and a bit, as Apple's encoder writes.
        try MP4Bytes.setEdit(path, movieTimescale: 44_100, start: 2_112, length: 40_000)
        let read = try ReadBack.file(path)
        #expect(read.track.length == .exact(40_000))
        #expect(try read.pcm == raw.cut(2_112..<42_112))
    }

    @Test func coarseEditIsTakenToTheNearestFrame() throws {
        let (path, raw) = try aac()
        // 544 ticks of 1/600 second are 39,984 frames.
        try MP4Bytes.setEdit(path, movieTimescale: 600, start: 2_112, length: 544)
        let read = try ReadBack.file(path)
        #expect(try read.pcm == raw.cut(2_112..<42_096))
        // 545 ticks are 40,057.5 frames.
        try MP4Bytes.setEdit(path, movieTimescale: 600, start: 2_112, length: 545)
        let odd = try ReadBack.file(path)
        #expect(odd.track.length == .about(40_058, tolerance: 74))
        #expect(try odd.pcm == raw.cut(2_112..<42_170))
    }

    @Test func coarseEditThatMayShowAllShowsAll() throws {
        let (path, raw) = try aac()
        // 50,123 frames are 681.95 ticks of 1/600 second.
        try MP4Bytes.setEdit(path, movieTimescale: 600, start: 1_024, length: 681)
        let read = try ReadBack.file(path)
        #expect(read.track.length == .exact(50_123))
        #expect(try read.pcm == raw.cut(1_024..<51_147))
    }

    @Test func gaplessTagIsMoreExactThanACoarseEdit() throws {
        let (path, raw) = try aac()
        try MP4Bytes.setEdit(path, movieTimescale: 600, start: 2_112, length: 544)
        // The track holds 51,147 frames.
        try MP4Bytes.addGaplessTag(path, priming: 2_112, padding: 51_147 - 2_112 - 40_001, frames: 40_001)
        let read = try ReadBack.file(path)
        #expect(read.track.length == .exact(40_001))
        #expect(try read.pcm == raw.cut(2_112..<42_113))
    }

    @Test func gaplessTagThatDoesNotAddUpIsIgnored() throws {
        let (path, raw) = try aac()
        try MP4Bytes.setEdit(path, movieTimescale: 44_100, start: 2_112, length: 40_000)
        try MP4Bytes.addGaplessTag(path, priming: 2_112, padding: 7, frames: 30_000)
        #expect(try ReadBack.file(path).pcm == raw.cut(2_112..<42_112))
    }
}
