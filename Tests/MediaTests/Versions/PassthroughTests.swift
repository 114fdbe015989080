import Conversion
@testable import Media
import TestSupport
import Testing

/// Packets copied from any container into any other that holds the codec: either the sound is the same, frame by
/// frame, or the copy is refused with a reason.
@Suite struct PassthroughTests {
    /// A codec and one container that holds it: the source for copies into all others.
    struct Origin: CustomTestStringConvertible, Sendable {
        let rule: FormatRule

        var testDescription: String { "\(rule.codec) out of \(rule.container)" }

        static let all = FormatTable.rules.filter { ![.pcm, .ulaw, .alaw, .wavpack].contains($0.codec) }.map(
            Origin.init
        )
    }

    @Test(arguments: Origin.all) func copyGivesTheSoundOfItsSource(origin: Origin) throws {
        let folder = try TemporaryFolder.create()
        var failures: [String] = []
        for (frames, channels) in [(1, 1), (700, 2), (5_000, 1), (30_011, 2)] {
            let source = folder.path("source." + origin.rule.container.fileExtensions[0])
            try write(frames, channels, origin.rule, folder, to: source)
            let expected = try Decoded.file(source)
            for target in Container.allCases where FormatTable.rule(target, origin.rule.codec) != nil {
                let copy = folder.path("copy." + target.fileExtensions[0])
                do {
                    let outcome = try Converted.file(
                        source,
                        to: copy,
                        as: AudioFormat(container: target, codec: .copy),
                        verifies: true
                    )
                    let decoded = try Decoded.file(copy)
                    if decoded.bytes != expected.bytes || outcome.summary.plannedFrames != Int64(expected.frames) {
                        failures.append("\(frames) to \(target): \(decoded.frames), not \(expected.frames)")
                    }
                    if loses(origin.rule, target, frames) { failures.append("\(frames) to \(target): not refused") }
                } catch let error as MediaError {
                    if error.code != .passthroughRefused || !loses(origin.rule, target, frames) {
                        failures.append("\(frames) to \(target): \(error)")
                    }
                }
            }
        }
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
    }

    /// CAF stores no Opus header.
    @Test func aGainThatCAFLosesIsRefused() throws {
        let folder = try TemporaryFolder.create()
        let source = folder.path("a.opus")
        try FFmpeg.encode(Signal.tone(500, rate: 48_000, frames: 48_000).pcm(.s16), to: source, ["-c:a", "libopus"])
        func copy(to container: Container) throws -> [UInt8] {
            let format = AudioFormat(container: container, codec: .copy)
            try Converted.file(source, to: folder.path("copy"), as: format, verifies: true)
            return try Decoded.file(folder.path("copy")).bytes
        }
        _ = try copy(to: .caf)
        var bytes = try Bytes.read(source)
        let head = try #require(Bytes.find("OpusHead", in: bytes))
        // -12 dB.
        bytes.replaceSubrange(head + 16..<head + 18, with: [0, 0xF4])
        let page = Array(bytes[..<(head + 19)])
        bytes.replaceSubrange(22..<26, with: OggPages.checksum(of: page))
        try Bytes.write(bytes, to: source)
        #expect(Converted.code { _ = try copy(to: .caf) } == .passthroughRefused)
        #expect(try copy(to: .mka) == Decoded.file(source).bytes)
    }

    /// MP4 and Matroska state the channels once.
    @Test func framesOfADTSThatChangeTheirChannelsAreNotCopied() throws {
        let folder = try TemporaryFolder.create()
        var joined: [UInt8] = []
        for channels in [2, 1] {
            let path = folder.path("\(channels).aac")
            try FFmpeg.encode(Signal.tone(500, rate: 48_000, frames: 48_000, channels: channels).pcm(.s16), to: path)
            joined += try Bytes.read(path)
        }
        let source = folder.path("all.aac")
        try Bytes.write(joined, to: source)
        for container in [Container.m4a, .mka] {
            let format = AudioFormat(container: container, codec: .copy)
            let code = Converted.code { try Converted.file(source, to: folder.path("copy"), as: format) }
            #expect(code == .passthroughRefused, "\(container)")
        }
        try Converted.file(source, to: folder.path("copy"), as: AudioFormat(container: .adts, codec: .copy))
        #expect(try Decoded.file(folder.path("copy")).bytes == Decoded.file(source).bytes)
    }

    /// Whether the target cannot store the delay and padding that the source states.
    private func loses(_ source: FormatRule, _ target: Container, _ frames: Int) -> Bool {
        if target == .adts { return source.container != .adts }
        // A single packet with delay, sound and padding: Matroska has one number for both ends.
        return source.container == .mp3 && target == .mka && frames < 47
    }

    private func write(
        _ frames: Int,
        _ channels: Int,
        _ rule: FormatRule,
        _ folder: TemporaryFolder,
        to path: String
    ) throws {
        let rate = rule.codec == .opus ? 48_000 : 44_100
        let wav = folder.path("source.wav")
        try WAVFile.write(Signal.sweep(rate: rate, frames: frames, channels: channels).pcm(.s16), to: wav)
        try Converted.file(wav, to: path, as: AudioFormat(container: rule.container, codec: rule.codec))
    }

    @Test func samplesAreCopiedWhereTheyLieAlike() throws {
        let folder = try TemporaryFolder.create()
        let (wav, copy) = (folder.path("source.wav"), folder.path("copy"))
        for format in PCM.SampleFormat.allCases {
            let pcm = Signal.noise(seed: 4, rate: 44_100, frames: 1_001, channels: 2).pcm(format)
            try WAVFile.write(pcm, to: wav)
            for target in [Container.wav, .w64, .caf, .raw, .mka] {
                // Bytes are signed in CAF and unsigned in WAV.
                if target == .caf, format == .u8 { continue }
                let outcome = try Converted.file(wav, to: copy, as: AudioFormat(container: target, codec: .copy))
                #expect(outcome.summary.plannedFrames == 1_001)
                let codec = "pcm_\(format)\(format == .u8 ? "" : "le")"
                let raw = RawShape(demuxerName: String(codec.dropFirst(4)), sampleRateHz: 44_100, channelCount: 2)
                let decoded = try Decoded.file(copy, raw: target == .raw ? raw : nil)
                #expect(decoded.bytes == pcm.converted(to: decoded.pcm.format).bytes, "\(format) to \(target)")
            }
        }
    }

    @Test func lawsAreCopied() throws {
        let folder = try TemporaryFolder.create()
        let (wav, copy) = (folder.path("source.wav"), folder.path("copy.au"))
        let pcm = Signal.sweep(rate: 8_000, frames: 999).pcm(.s16)
        for law in [G711.ulaw, .alaw] {
            try WAVFile.write(pcm, to: wav, options: .init(law: law))
            try Converted.file(wav, to: copy, as: AudioFormat(container: .au, codec: .copy))
            #expect(try Decoded.file(copy).bytes == Decoded.file(wav).bytes)
        }
    }

    @Test func rangesAreRefused() throws {
        let folder = try TemporaryFolder.create()
        let (wav, copy) = (folder.path("source.wav"), folder.path("copy.w64"))
        try WAVFile.write(Signal.silence(rate: 8_000, frames: 8_000).pcm(.s16), to: wav)
        let half = try MediaTimeRange(start: .zero, end: MediaTime(value: 1, timescale: 2))
        let code = Converted.code {
            try Converted.file(wav, to: copy, as: AudioFormat(container: .w64, codec: .copy), ranges: [half])
        }
        #expect(code == .passthroughRefused)
        #expect(try Bytes.size(of: copy) == 0)
    }

    @Test func cutSourceIsNotCopiedAsIfItWereWhole() throws {
        let folder = try TemporaryFolder.create()
        let pcm = Signal.noise(seed: 9, rate: 44_100, frames: 100_000).pcm(.s16)
        let wav = folder.path("source.wav")
        try WAVFile.write(pcm, to: wav)
        for rule in [(Container.flac, Codec.flac), (.ogg, .opus), (.m4a, .alac), (.wav, .pcm), (.mp3, .mp3)] {
            let source = folder.path("cut.\(rule.0.fileExtensions[0])")
            try Converted.file(wav, to: source, as: AudioFormat(container: rule.0, codec: rule.1))
            try Bytes.truncate(source, toFraction: 0.6)
            let code = Converted.code {
                try Converted.file(source, to: folder.path("c.mka"), as: AudioFormat(container: .mka, codec: .copy))
            }
            #expect(code == (rule.0 == .m4a ? .unreadableContainer : .truncated), "\(rule)")
        }
    }

    /// A source with the delay of Apple's encoder, 2112 frames, which is not a whole number of packets.
    @Test func delayThatEndsInAPacketIsCopied() throws {
        let folder = try TemporaryFolder.create()
        let (wav, m4a, copy) = (folder.path("s.wav"), folder.path("s.m4a"), folder.path("c.mka"))
        let pcm = Signal.sweep(to: 2_000, rate: 44_100, frames: 20_000).pcm(.s16)
        try WAVFile.write(pcm, to: wav)
        try Converted.file(wav, to: m4a, as: AudioFormat(container: .m4a, codec: .aac))
        var bytes = try Bytes.read(m4a)
        let list = try #require(Bytes.find("elst", in: bytes))
        // After version, count and duration: the place in the media at which the sound begins.
        #expect(try Bytes.big(UInt32.self, in: bytes, at: list + 16) == 1024)
        bytes.replaceSubrange(list + 16..<list + 20, with: [0, 0, 0x08, 0x40])
        let sound = 20_000 - (2112 - 1024)
        bytes.replaceSubrange(list + 12..<list + 16, with: [0, 0, UInt8(sound >> 8), UInt8(sound & 0xFF)])
        try Bytes.write(bytes, to: m4a)
        let expected = try Decoded.file(m4a)
        #expect(expected.frames == sound)
        #expect(try expected.pcm.bestLag(against: pcm.cut(20_000 - sound..<20_000)) == 0)
        for target in [Container.mka, .m4a, .mp4] {
            try Converted.file(m4a, to: copy, as: AudioFormat(container: target, codec: .copy))
            let decoded = try Decoded.file(copy)
            #expect(decoded.frames == expected.frames && decoded.bytes == expected.bytes, "\(target) \(decoded.frames)")
        }
    }

    @Test func mp3WithoutATagIsCopiedWithoutOne() throws {
        let folder = try TemporaryFolder.create()
        let (source, copy) = (folder.path("s.mp3"), folder.path("c.mp3"))
        let pcm = Signal.sweep(rate: 44_100, frames: 30_000).pcm(.s16)
        try FFmpeg.encode(pcm, to: source, ["-b:a", "128k", "-write_xing", "0"])
        for target in [Container.mp3, .mka] {
            try Converted.file(source, to: copy, as: AudioFormat(container: target, codec: .copy))
            #expect(try Decoded.file(copy).bytes == Decoded.file(source).bytes)
        }
    }
}
