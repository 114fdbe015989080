import Conversion
import TestSupport
import Testing

@testable import Media

/// Ambisonics in Ogg Opus (mapping family 2, RFC 8486): channels without speakers, whose order must not change.
@Suite struct AmbisonicOpusTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let levels = [0.5, 0.25, 0.125, 0.35]

    /// Four channels, each with a different pitch and level.
    private func source() throws -> (path: String, signal: Signal) {
        let tones = Self.levels.enumerated().map { number, level in
            Signal.tone(Double(number + 1) * 220, rate: 48_000, frames: 96_000, amplitude: level)
        }
        let signal = Signal.stacked(tones)
        try WAVFile.write(signal.pcm(.s16), to: folder.path("in.wav"), options: .init(leavesOutChannelMask: true))
        let path = folder.path("a.opus")
        try FFmpeg.run([
            "-channel_layout", "ambisonic 1", "-i", folder.path("in.wav"), "-c:a", "libopus", "-b:a", "512k",
            "-mapping_family", "2", path,
        ])
        return (path, signal)
    }

    @Test func channelsKeepTheirOrderAndLevels() throws {
        let (path, signal) = try source()
        let bytes = try Bytes.read(path)
        let head = try #require(Bytes.find("OpusHead", in: bytes))
        #expect(bytes[head + 9] == 4 && bytes[head + 18] == 2)
        let read = try ReadBack.file(path)
        let pcm = try read.pcm
        #expect(read.track.channelCount == 4 && read.track.channelMask == 0 && pcm.frames == 96_000)
        try expectOrder(pcm, signal)
        // Compares with libopus rather than with libav's own decoder.
        let reference = try FFmpeg.decode(path, to: .f32, inputArguments: ["-c:a", "libopus"])
        #expect(try pcm.snr(against: reference.cut(0..<96_000)).min()! > 60)
    }

    /// `opusdec` does not know ambisonics, but it decodes the same streams as four speakers (family 1).
    @Test func opusdecHearsTheSameChannels() throws {
        let (path, signal) = try source()
        let other = folder.path("quad.opus")
        var file = try OggFile(try Bytes.read(path))
        let head = try #require(Bytes.find("OpusHead", in: file.headers[0]))
        file.headers[0][head + 18] = 1
        try Bytes.write(file.renumbered, to: other)
        let heard = try Player.opusdec.decode(other, in: folder)
        let pcm = try ReadBack.file(path).pcm
        try expectOrder(heard, signal)
        #expect(try pcm.converted(to: .s16).snr(against: heard.cut(0..<96_000)).min()! > 60)
        #expect(try ReadBack.file(other).pcm == pcm)
    }

    @Test(arguments: [Container.wav, .flac, .w64, .mka, .caf, .au]) func outputsKeepThem(container: Container) throws {
        let (path, signal) = try source()
        let output = folder.path("out." + container.fileExtensions[0])
        let codec: Codec = container == .flac ? .flac : .pcm
        let outcome = try Converted.file(
            path,
            to: output,
            as: AudioFormat(container: container, codec: codec, bitDepth: 24),
            verifies: true
        )
        #expect(outcome.remarks.map(\.kind) == (container == .flac ? [.layoutAssumed] : []))
        let decoded = try FFmpeg.decode(output, to: .s24)
        try expectOrder(decoded, signal)
        #expect(try decoded.snr(against: ReadBack.file(path).pcm.converted(to: .s24)).min()! > 90)
    }

    private func expectOrder(_ pcm: PCM, _ signal: Signal) throws {
        try #require(pcm.channels == 4)
        let common = 1_000..<95_000
        let ratios = try pcm.converted(to: .f32).cut(common).snr(against: signal.pcm(.f32).cut(common))
        #expect(ratios.min()! > 20, "\(ratios)")
        for (rms, level) in zip(pcm.rms, Self.levels) { #expect(abs(rms * 2.0.squareRoot() / level - 1) < 0.03) }
    }
}
