import Conversion
import Media
import TestSupport
import Testing

/// Every channel keeps its place through formats that each order channels in their own way.
@Suite struct ChannelTests {
    struct Way: CustomTestStringConvertible, Sendable {
        let format: AudioFormat
        let layout: ChannelLayout

        var testDescription: String { "\(layout) in \(format.container)/\(format.codec.map { $0.rawValue } ?? "")" }

        static let all: [Way] = FormatTable.rules.flatMap { rule -> [Way] in
            let layouts = [ChannelLayout.fivePointOne, .sevenPointOne, .sevenPointOneWide]
            let fits: (ChannelLayout) -> Bool = { layout in
                rule.channels.contains(layout.channelCount)
                    && (rule.layouts?.contains(layout) ?? (layout != .sevenPointOneWide))
            }
            return [Codec.ulaw, .alaw].contains(rule.codec)
                ? []
                : layouts.filter(fits).map {
                    Way(format: AudioFormat(container: rule.container, codec: rule.codec, layout: $0), layout: $0)
                }
        }
    }

    private static let step = 3_000

    /// One channel after the other sounds for a while; the low-frequency channel has a lower tone.
    private func relay(_ layout: ChannelLayout) -> Signal {
        let frames = Self.step * layout.channelCount
        return Signal.stacked(
            (0..<layout.channelCount).map { channel in
                // Channel 4 is the low-frequency channel in all three layouts.
                let tone = Signal.tone(channel == 3 ? 60 : 500, rate: 48_000, frames: Self.step, amplitude: 0.5)
                let before = Signal.silence(rate: 48_000, frames: channel * Self.step)
                let after = Signal.silence(rate: 48_000, frames: frames - (channel + 1) * Self.step)
                return before.followed(by: tone).followed(by: after)
            }
        )
    }

    /// The loudest channel in each stretch; -1 if it is less than five times as loud as every other channel.
    private func loudest(_ pcm: PCM) throws -> [Int] {
        try (0..<pcm.channels).map { stretch in
            let middle = stretch * Self.step + 500..<(stretch + 1) * Self.step - 500
            let levels = try pcm.cut(middle).rms
            let best = levels.indices.max { levels[$0] < levels[$1] } ?? -1
            let rest = levels.indices.filter { $0 != best }.map { levels[$0] }.max() ?? 0
            return rest < levels[best] / 5 ? best : -1
        }
    }

    @Test(arguments: Way.all) func channelsKeepTheirPlaces(way: Way) throws {
        let folder = try TemporaryFolder.create()
        let wav = folder.path("source.wav")
        let path = folder.path("out." + way.format.container.fileExtensions[0])
        let pcm = relay(way.layout).pcm(.s16)
        try WAVFile.write(pcm, to: wav, options: .init(channelMask: UInt32(way.layout.mask)))
        let outcome = try Converted.file(wav, to: path, as: way.format, verifies: true)
        #expect(outcome.summary.plannedFrames == Int64(pcm.frames))
        let raw = RawShape(outcome.format)
        let decoded = try Decoded.file(path, raw: raw)
        #expect(decoded.frames == Int(outcome.summary.decodedFrames))
        // ADTS begins with its encoder delay.
        let delay = way.format.container == .adts ? 1024 : 0
        let order = Array(0..<pcm.channels)
        #expect(try loudest(decoded.pcm.cut(delay..<delay + pcm.frames)) == order)
        guard raw == nil else { return }
        let theirs = try FFmpeg.decode(path)
        #expect(try loudest(theirs.cut(delay..<delay + pcm.frames)) == order)
    }

    /// The file states its layout. Without it, readers would guess.
    @Test(arguments: [Container.wav, .w64, .caf, .aiff, .flac, .wavpack])
    func layoutIsStated(container: Container) throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("source.wav"), folder.path("out"))
        for layout in [ChannelLayout.quad, .fivePointOneSide, .fivePointOne, .sevenPointOne] {
            let pcm = Signal.silence(rate: 48_000, frames: 100, channels: layout.channelCount).pcm(.s16)
            try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true, channelMask: UInt32(layout.mask)))
            try Converted.file(wav, to: path, as: AudioFormat(container: container))
            // CAF and AIFF use one name for both arrangements; libav reads it as side speakers.
            let sides: [ChannelLayout: (UInt64, String)] = [
                .quad: (0x603, "quad(side)"), .fivePointOne: (0x60F, "5.1(side)"),
            ]
            let readBack = [.caf, .aiff].contains(container) ? sides[layout] : nil
            let (mask, name) = readBack ?? (layout.mask, layout.description)
            #expect(try FFmpeg.probe(path).audio.first?.channelLayout == name, "\(container) \(layout)")
            #expect(try Decoded.file(path).track.channelMask == mask, "\(container) \(layout)")
        }
    }

    /// The name that libav states for 7.1 means the same speakers in another order.
    @Test(arguments: [Container.caf, .aiff, .aifc]) func orderOfSpeakersIsStated(container: Container) throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("source.wav"), folder.path("out"))
        for mask in [0x63F, 0x6CF] as [UInt32] {
            let pcm = Signal.silence(rate: 48_000, frames: 100, channels: 8).pcm(.s16)
            try WAVFile.write(pcm, to: wav, options: .init(isExtensible: true, channelMask: mask))
            try Converted.file(wav, to: path, as: AudioFormat(container: container))
            let bytes = try Bytes.read(path)
            let chunk = try #require(Bytes.find(container == .caf ? "chan" : "CHAN", in: bytes))
            let body = chunk + (container == .caf ? 12 : 8)
            // Bits of the speakers, in the order of WAVE.
            let expected: [UInt8] = [0, 1, 0, 0, 0, 0, 6, UInt8(mask & 0xFF)]
            let speakers: [UInt8] = Array(bytes[body..<(body + 8)])
            #expect(speakers == expected)
            #expect(try Decoded.file(path).track.channelMask == UInt64(mask))
        }
    }

    @Test(arguments: [Container.wav, .flac, .m4a, .mp3, .ogg]) func monoSoundsFromBothSides(container: Container) throws
    {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("source.wav"), folder.path("out"))
        let pcm = Signal.sweep(to: 2_000, rate: 44_100, frames: 20_011).pcm(.s16)
        try WAVFile.write(pcm, to: wav)
        try Converted.file(wav, to: path, as: AudioFormat(container: container, channelCount: 2))
        let decoded = try Decoded.file(path).pcm
        #expect(decoded.frames == 20_011 && decoded.channels == 2)
        let levels = decoded.rms
        #expect(abs(levels[0] - levels[1]) < 0.01 * levels[0] && levels[0] > 0.1)
    }

    @Test func surroundIsMixedDownFrameByFrame() throws {
        let folder = try TemporaryFolder.create()
        let (wav, path) = (folder.path("source.wav"), folder.path("out.wav"))
        let pcm = relay(.fivePointOne).pcm(.s16)
        try WAVFile.write(pcm, to: wav)
        try Converted.file(wav, to: path, as: AudioFormat(container: .wav, channelCount: 2))
        let mixed = try Decoded.file(path).pcm
        #expect(mixed.frames == pcm.frames && mixed.channels == 2)
        func levels(_ stretch: Int) throws -> [Double] {
            try mixed.cut(stretch * Self.step + 500..<(stretch + 1) * Self.step - 500).rms
        }
        let (left, right, centre) = (try levels(0), try levels(1), try levels(2))
        #expect(left[0] > 0.05 && left[1] < 0.001)
        #expect(right[1] > 0.05 && right[0] < 0.001)
        #expect(centre[0] > 0.05 && abs(centre[0] - centre[1]) < 0.001)
        #expect(try levels(4)[0] > 0.03 && levels(5)[1] > 0.03)
        #expect(mixed.peaks.allSatisfy { $0 < 1 })
    }
}
