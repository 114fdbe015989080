import Conversion
import TestSupport
import Testing

@testable import Media

/// The digest of a track's sound is that of the samples which another program decodes.
@Suite struct SoundDigestTests {
    private let folder: TemporaryFolder
    private static let noise = Signal.noise(seed: 91, rate: 44_100, frames: 50_021, channels: 2)

    init() throws { folder = try TemporaryFolder.create() }

    private struct Scan {
        let digest: SoundDigest?
        let damage: DamageAccount
    }

    private func scan(_ path: String, ranges: [MediaTimeRange] = []) throws -> Scan {
        let file = try OpenFile.reading(path)
        let options = Reader.Options(nameHint: path, damage: .conceal, checksDigest: true, digestsSound: true)
        let reader = try Reader(descriptor: file.descriptor, options: options)
        let output = try reader.samples(of: reader.track(), ranges: ranges)
        var block = try SampleBlock()
        while try output.next(into: &block) {}
        return Scan(digest: output.finishSoundDigest(), damage: output.damage)
    }

    /// SHA-256 by coreutils.
    private func sha256(_ bytes: [UInt8]) throws -> String {
        let path = folder.path("samples")
        try Bytes.write(bytes, to: path)
        return String(try Run.program("sha256sum", [path]).checked().outputText.prefix(64))
    }

    /// A file, and the form in which ffmpeg decodes it to the bytes that the digest covers.
    struct Case: Sendable, CustomStringConvertible {
        let name: String
        let format: PCM.SampleFormat
        let arguments: [String]
        var description: String { name }
    }

    private static let cases: [Case] = [
        Case(name: "16.wav", format: .s16, arguments: ["-c:a", "pcm_s16le"]),
        Case(name: "24.wav", format: .s24, arguments: ["-c:a", "pcm_s24le"]),
        Case(name: "32.wav", format: .s32, arguments: ["-c:a", "pcm_s32le"]),
        Case(name: "8.wav", format: .u8, arguments: ["-c:a", "pcm_u8"]),
        Case(name: "float.wav", format: .f32, arguments: ["-c:a", "pcm_f32le"]),
        Case(name: "16.flac", format: .s16, arguments: ["-sample_fmt", "s16"]),
        Case(name: "24.flac", format: .s24, arguments: ["-sample_fmt", "s32", "-bits_per_raw_sample", "24"]),
        Case(name: "16.m4a", format: .s16, arguments: ["-c:a", "alac", "-sample_fmt", "s16p"]),
        Case(name: "24.m4a", format: .s24, arguments: ["-c:a", "alac", "-sample_fmt", "s32p"]),
    ]

    @Test(arguments: cases) func digestIsThatOfTheDecodedSamples(this: Case) throws {
        let path = folder.path(this.name)
        try FFmpeg.encode(Self.noise.pcm(.s24), to: path, this.arguments)
        let scan = try scan(path)
        let digest = try #require(scan.digest)
        #expect(scan.damage.isEmpty && digest.decoder == nil && digest.isWellFormed)
        #expect((digest.sampleRateHz, digest.channelCount) == (44_100, 2))
        #expect(digest.form == this.format.rawValue + (this.format == .u8 ? "" : "le"))
        let decoded = try sha256(FFmpeg.decode(path, to: this.format).bytes)
        #expect(digest.sha256 == decoded)
    }

    @Test func sameSoundInOtherFilesHasTheSameDigest() throws {
        let (wav, flac, tagged) = (folder.path("a.wav"), folder.path("a.flac"), folder.path("b.flac"))
        try WAVFile.write(Self.noise.pcm(.s16), to: wav)
        try FFmpeg.encode(wav, to: flac)
        try FFmpeg.encode(flac, to: tagged, ["-c:a", "copy", "-metadata", "title=other"])
        let digest = try #require(try scan(wav).digest)
        #expect(try scan(flac).digest == digest)
        #expect(try scan(tagged).digest == digest)
    }

    /// Float decoders give other samples on other processors, and WavPack may be lossy.
    @Test(arguments: ["a.mp3", "a.opus", "a.m4a", "a.ogg", "a.wv"]) func digestOfLossySoundIsThatOfItsPackets(
        name: String
    ) throws {
        let (path, tagged) = (folder.path(name), folder.path("tagged-" + name))
        try FFmpeg.encode(Self.noise.pcm(.s16), to: path)
        try FFmpeg.encode(path, to: tagged, ["-c:a", "copy", "-metadata", "title=other"])
        let digest = try #require(try scan(path).digest)
        #expect(digest.form.hasPrefix("packets ") && digest.channelCount == 2)
        #expect(try scan(tagged).digest == digest)
        var bytes = try Bytes.read(path)
        bytes[bytes.count / 2] ^= 0x10
        try Bytes.write(bytes, to: path)
        #expect(try scan(path).digest?.sha256 != digest.sha256)
    }

    @Test func brokenFLACFrameHasItsPlaceAndAnotherDigest() throws {
        let sound = Self.noise.pcm(.s16)
        let sizes = [4_096]
        var file = try BlockyFLAC(sound, sizes: sizes, .frames)
        let path = folder.path("blocks.flac")
        try Bytes.write(file.bytes, to: path)
        let clean = try scan(path)
        let lost = file.starts[5]..<file.starts[6]
        file.damage(5)
        try Bytes.write(file.bytes, to: path)
        let broken = try scan(path)
        #expect(clean.damage.isEmpty)
        #expect(broken.damage.stretches.map(\.code) == [.corruptStream])
        #expect(broken.damage.stretches.map(\.start) == [Int64(lost.lowerBound)])
        #expect(broken.damage.stretches.map(\.frames) == [Int64(lost.count)])
        let digest = try #require(broken.digest)
        #expect(digest.sha256 != clean.digest?.sha256)
        // What libav makes of damage differs between its releases.
        #expect(digest.decoder?.hasPrefix("libavcodec ") == true)
    }

    @Test func partOfATrackHasNoDigest() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Self.noise.pcm(.s16), to: path)
        let half = try MediaTimeRange(start: .zero, end: MediaTime(value: 1, timescale: 2))
        #expect(try scan(path, ranges: [half]).digest == nil)
    }
}
