import Conversion
import TestSupport
import Testing

@testable import Media

/// Channels without positions stay in order and unchanged, in every format.
@Suite struct UnpositionedChannelTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A container and codec that keeps every sample.
    struct Way: CustomTestStringConvertible, Sendable {
        let container: Container
        let codec: Codec

        var testDescription: String { "\(codec) in \(container)" }
        var format: AudioFormat { AudioFormat(container: container, codec: codec) }
        var fileName: String { "out." + container.fileExtensions[0] }

        static let lossless: [Way] = FormatTable.rules.filter(\.isLossless).map {
            Way(container: $0.container, codec: $0.codec)
        }
    }

    private static let frames = 5_003

    /// Each channel has its own constant value and then its own tone, so that any mix or swap shows.
    private func source(_ channels: Int, _ format: PCM.SampleFormat = .s16) -> PCM {
        Signal.stacked(
            (1...channels).map { channel in
                let level = Signal(rate: 48_000, channels: [[Double](repeating: Double(channel) * 0.03, count: 200)])
                let tone = Signal.tone(Double(channel) * 110, rate: 48_000, frames: Self.frames - 200, amplitude: 0.7)
                return level.followed(by: tone)
            }
        ).pcm(format)
    }

    private func wav(_ pcm: PCM, isExtensible: Bool = true, mask: UInt32? = nil) throws -> String {
        let path = folder.path("source.wav")
        let options = WAVFile.Options(
            isExtensible: isExtensible,
            channelMask: mask,
            leavesOutChannelMask: mask == nil
        )
        try WAVFile.write(pcm, to: path, options: options)
        return path
    }

    @Test(arguments: Way.lossless, [3, 4, 5, 6, 7, 8, 9, 16])
    func everyContainerKeepsTheChannelsInOrderThereAndBack(way: Way, channels: Int) throws {
        let pcm = source(channels)
        let input = try wav(pcm)
        let path = folder.path(way.fileName)
        let most = way.codec == .pcm ? 64 : 8
        guard channels <= most else {
            #expect(Converted.code { try Converted.file(input, to: path, as: way.format) } == .formatRefused)
            return
        }
        let outcome = try Converted.file(input, to: path, as: way.format, verifies: true)
        let raw = RawShape(outcome.format)
        let decoded = try Decoded.file(path, raw: raw)
        #expect(Bytes.areEqual(decoded.bytes, pcm.bytes))
        // A codec that requires positions has assigned some, and a remark reports it.
        #expect(outcome.format.layout.isDiscrete != way.codec.namesPositions)
        #expect(outcome.remarks.map(\.kind) == (way.codec.namesPositions ? [.layoutAssumed] : []))
        #expect((decoded.track.channelMask == 0) == !way.codec.namesPositions)
        let arguments = raw.map { ["-f", $0.demuxerName, "-ar", "48000", "-ac", "\(channels)"] } ?? []
        #expect(try Bytes.areEqual(FFmpeg.decode(path, inputArguments: arguments).bytes, pcm.bytes))
        for back in [Container.wav, .caf, .flac, .wavpack] where channels <= 8 || ![.flac, .wavpack].contains(back) {
            let second = folder.path("back." + back.fileExtensions[0])
            try Converted.file(path, to: second, as: AudioFormat(container: back), verifies: true, raw: raw)
            #expect(try Bytes.areEqual(Decoded.file(second).bytes, pcm.bytes), "\(back)")
        }
    }

    /// `flac`, `wvunpack` and `sox` share no code with libav.
    @Test(arguments: [3, 4, 6, 8]) func otherDecodersFindTheChannelsInOrder(channels: Int) throws {
        let pcm = source(channels)
        let input = try wav(pcm, isExtensible: false)
        let out = folder.path("decoded.wav")
        func decoded(_ file: String, _ program: String, _ arguments: [String]) throws -> [UInt8] {
            let target = folder.path(file)
            let container = try #require(Container.forFileExtension(String(file.split(separator: ".")[1]))).0
            try Converted.file(input, to: target, as: AudioFormat(container: container))
            try Run.program(program, arguments.map { $0 == "IN" ? target : $0 == "OUT" ? out : $0 }).checked()
            return try WAVFile.read(path: out).bytes
        }
        #expect(try decoded("a.flac", "flac", ["-d", "-f", "-s", "-o", "OUT", "IN"]) == pcm.bytes)
        #expect(try decoded("a.wv", "wvunpack", ["-q", "-y", "IN", "-o", "OUT"]) == pcm.bytes)
        for file in ["a.wav", "a.aiff", "a.au", "a.w64", "a.caf"] where file != "a.caf" && file != "a.w64" {
            #expect(try decoded(file, "sox", ["-D", "IN", "OUT"]) == pcm.bytes, "\(file)")
        }
    }

    /// Files without positions, made by other programs, for every lossless reader.
    @Test(arguments: [3, 4, 6, 9, 16]) func everySourceWithoutPositionsIsTakenInOrder(channels: Int) throws {
        let pcm = source(channels)
        let plain = try wav(pcm, isExtensible: false)
        var sources: [(name: String, raw: RawShape?)] = [("source.wav", nil)]
        try AIFFFile.write(pcm, to: folder.path("s.aiff"))
        try AUFile.write(pcm, to: folder.path("s.au"))
        try Bytes.write(CraftedFile.caf(pcm, layoutTag: nil), to: folder.path("s.caf"))
        try Bytes.write(pcm.bytes, to: folder.path("s.raw"))
        try FFmpeg.encode(plain, to: folder.path("s.mka"), ["-c:a", "pcm_s16le"])
        sources += [("s.aiff", nil), ("s.au", nil), ("s.caf", nil), ("s.mka", nil)]
        sources.append(("s.raw", RawShape(demuxerName: "s16le", sampleRateHz: 48_000, channelCount: channels)))
        if channels <= 6, channels != 5 {
            try FFmpeg.encode(plain, to: folder.path("s.tta"))
            sources.append(("s.tta", nil))
        }
        for (name, raw) in sources {
            for container in [Container.wav, .mka, .flac] where container == .wav || channels <= 8 {
                let path = folder.path("out." + container.fileExtensions[0])
                let outcome = try Converted.file(
                    folder.path(name),
                    to: path,
                    as: AudioFormat(container: container),
                    verifies: true,
                    raw: raw
                )
                #expect(outcome.source.channelMask == 0, "\(name)")
                #expect(try FFmpeg.decode(path).bytes == pcm.bytes, "\(name) to \(container)")
            }
        }
    }

    /// The layout tags of microphone arrays and ambisonics, which name no loudspeakers.
    @Test(arguments: [4, 9, 16]) func ambisonicsStayAsTheyAre(channels: Int) throws {
        let pcm = source(channels)
        let order = ChannelLayoutTag.self
        var files: [[UInt8]] = [
            try CraftedFile.caf(pcm, layoutTag: order.ambisonicSN3D | UInt32(channels)),
            try CraftedFile.caf(pcm, layoutTag: order.ambisonicN3D | UInt32(channels)),
            try CraftedFile.caf(pcm, layoutTag: order.inOrder | UInt32(channels)),
            try CraftedFile.caf(pcm, layoutTag: order.unknown | UInt32(channels)),
            try CraftedFile.ambisonicWAV(pcm),
        ]
        if channels == 4 { files.append(try CraftedFile.caf(pcm, layoutTag: order.ambisonicB | 4)) }
        for (number, bytes) in files.enumerated() {
            let path = folder.path("ambisonic")
            try Bytes.write(bytes, to: path)
            for container in [Container.wav, .caf, .w64] {
                let out = folder.path("out." + container.fileExtensions[0])
                let outcome = try Converted.file(path, to: out, as: AudioFormat(container: container), verifies: true)
                #expect(outcome.format.layout == .discrete(channels), "\(number) \(container)")
                #expect(outcome.remarks.isEmpty, "\(number) \(container) \(outcome.remarks)")
                #expect(try FFmpeg.decode(out).bytes == pcm.bytes, "\(number) \(container)")
            }
        }
    }

    /// Opus may hold channels without positions as well (mapping family 255).
    @Test func unpositionedOpusIsNotMixed() throws {
        let relay = Signal.relay(channels: 4, step: 4_800)
        let path = folder.path("a.opus")
        try FFmpeg.encode(
            relay.pcm(.s16),
            to: path,
            ["-c:a", "libopus", "-mapping_family", "255", "-b:a", "512k"]
        )
        for format in [AudioFormat(container: .wav), AudioFormat(container: .ogg, codec: .vorbis)] {
            let out = folder.path("out")
            try Converted.file(path, to: out, as: format)
            #expect(try FFmpeg.decode(out).loudestChannels(step: 4_800) == [0, 1, 2, 3], "\(format.container)")
        }
    }

    @Test(arguments: [(4, UInt32(0x7)), (4, 0x3F), (3, 0x1), (6, 0x33)])
    func maskOfAnotherCountIsNoLayout(channels: Int, mask: UInt32) throws {
        let pcm = source(channels)
        for container in [Container.wav, .flac, .caf] {
            let path = folder.path("out")
            let outcome = try Converted.file(
                try wav(pcm, mask: mask),
                to: path,
                as: AudioFormat(container: container),
                verifies: true
            )
            #expect(outcome.source.channelMask == 0)
            #expect(try FFmpeg.decode(path).bytes == pcm.bytes, "\(container)")
        }
    }

    @Test(arguments: [3, 4, 5, 6, 7, 8]) func lossyCodecsTakeThemInOrder(channels: Int) throws {
        // Such codecs put low frequencies into the fourth of six or eight channels.
        let relay = Signal.relay(channels: channels, step: 9_600, low: channels >= 6 ? 3 : nil)
        let input = try wav(relay.pcm(.s16))
        let formats = [
            AudioFormat(container: .ogg, codec: .vorbis), AudioFormat(container: .ogg, codec: .opus),
            AudioFormat(container: .webm, codec: .opus), AudioFormat(container: .m4a, codec: .aac),
        ].filter { channels != 7 || $0.codec != .aac }
        for format in formats {
            let path = folder.path("out." + format.container.fileExtensions[0])
            let outcome = try Converted.file(input, to: path, as: format)
            #expect(outcome.remarks.map(\.kind) == [.layoutAssumed], "\(outcome.remarks)")
            #expect(outcome.remarks.first?.detail.hasPrefix("\(channels) channels without positions") == true)
            let heard = try FFmpeg.decode(path).loudestChannels(step: 9_600)
            #expect(heard == Array(0..<channels), "\(format.codec!)")
        }
    }

    @Test func fewerChannelsAreRefusedWithAWayOut() throws {
        let input = try wav(source(4))
        for format in [
            AudioFormat(container: .wav, channelCount: 2), AudioFormat(container: .wav, layout: .stereo),
            AudioFormat(container: .mp3), AudioFormat(container: .m4a, maximumChannelCount: 2),
            try Preset.named("opus-voice-24").format,
        ] {
            do {
                try Converted.file(input, to: folder.path("out"), as: format)
                Issue.record("\(format) was mixed from nothing")
            } catch let error as MediaError {
                #expect(error.code == .formatRefused)
                #expect(
                    error.detail.contains("the layout of the source's 4 channels is unknown, so they cannot be mixed")
                )
                #expect(error.hint?.contains("--layout quad") == true)
            }
        }
    }

    /// The remedy that the refusal suggests.
    @Test func namedChannelsCanBeMixed() throws {
        let input = try wav(source(4))
        let named = folder.path("named.wav")
        try Converted.file(input, to: named, as: AudioFormat(container: .wav, layout: .quad))
        #expect(try Decoded.file(named).track.channelMask == ChannelLayout.quad.mask)
        #expect(try FFmpeg.decode(named).bytes == source(4).bytes)
        let mixed = try Converted.file(
            named,
            to: folder.path("mixed.wav"),
            as: AudioFormat(container: .wav, channelCount: 2)
        )
        #expect(mixed.remarks.map(\.detail) == ["quad was mixed to stereo, front channels at -4.6 dB"])
    }

    @Test func oneAndTwoChannelsAreMonoAndStereo() throws {
        let pcm = source(2)
        let out = folder.path("out.wav")
        let outcome = try Converted.file(try wav(pcm), to: out, as: AudioFormat(container: .wav))
        #expect(outcome.format.layout == .stereo && outcome.remarks.isEmpty)
        #expect(try WAVFile.read(path: out).bytes == pcm.bytes)
        let mono = try Converted.file(try wav(source(1)), to: out, as: AudioFormat(container: .wav, channelCount: 2))
        #expect(mono.remarks.isEmpty)
    }
}

/// Layout tags in CAF. The lower half is the number of channels.
private enum ChannelLayoutTag {
    static let ambisonicB: UInt32 = 107 << 16
    static let inOrder: UInt32 = 147 << 16
    static let ambisonicSN3D: UInt32 = 190 << 16
    static let ambisonicN3D: UInt32 = 191 << 16
    static let unknown: UInt32 = 0xFFFF << 16
}
