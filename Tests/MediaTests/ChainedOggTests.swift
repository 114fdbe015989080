import Conversion
import TestSupport
import Testing

@testable import Media

/// Ogg files in which several streams follow one another: each sounds as it does alone. libav goes on with the decoder
/// of the first.
@Suite struct ChainedOggTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// One stream: an encoder, its rate and channels, and a gain in 1/256 dB.
    struct Part: Sendable {
        let codec: String
        var rate = 48_000
        var channels = 2
        var frames = 50_123
        var gain = 0

        var encoder: [String] {
            switch codec {
            case "opus": ["-c:a", "libopus", "-b:a", "96k"]
            case "flac": ["-c:a", "flac"]
            case "vorbis6": ["-c:a", "libvorbis", "-q:a", "6"]
            default: ["-c:a", "libvorbis", "-q:a", "2"]
            }
        }
    }

    struct Chain: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let parts: [Part]

        init(_ name: String, _ parts: [Part]) { (testDescription, self.parts) = (name, parts) }

        static let all: [Chain] = [
            Chain("Vorbis", [Part(codec: "vorbis"), Part(codec: "vorbis6", frames: 40_001), Part(codec: "vorbis")]),
            Chain("Vorbis, channels", [Part(codec: "vorbis"), Part(codec: "vorbis", channels: 1)]),
            Chain("Vorbis, surround", [Part(codec: "vorbis", channels: 1), Part(codec: "vorbis", channels: 6)]),
            Chain("Vorbis, rate", [Part(codec: "vorbis"), Part(codec: "vorbis", rate: 44_100), Part(codec: "vorbis")]),
            Chain("Vorbis, short", [Part(codec: "vorbis", frames: 3_000), Part(codec: "vorbis6", frames: 2_000)]),
            Chain(
                "Opus",
                [Part(codec: "opus"), Part(codec: "opus", frames: 40_001), Part(codec: "opus", frames: 700)]
            ),
            Chain(
                "Opus, gain",
                [Part(codec: "opus"), Part(codec: "opus", gain: -1_536), Part(codec: "opus", gain: 256)]
            ),
            Chain(
                "Opus, channels",
                [Part(codec: "opus", channels: 1), Part(codec: "opus"), Part(codec: "opus", channels: 6)]
            ),
            Chain("FLAC", [Part(codec: "flac"), Part(codec: "flac", channels: 1)]),
            Chain("codecs", [Part(codec: "vorbis"), Part(codec: "opus"), Part(codec: "flac", rate: 44_100)]),
        ]
    }

    private func write(_ parts: [Part], to path: String) throws -> [String] {
        var joined: [UInt8] = []
        var paths: [String] = []
        for (number, part) in parts.enumerated() {
            let one = folder.path("\(number).ogg")
            let signal = Signal.sweep(
                from: 200 + Double(number) * 300,
                to: 2_000,
                rate: part.rate,
                frames: part.frames,
                channels: part.channels,
                amplitude: 0.4
            )
            try FFmpeg.encode(signal.pcm(.s16), to: one, part.encoder + ["-serial_offset", "\(number + 1)"])
            if part.gain != 0 { try setGain(part.gain, in: one) }
            joined += try Bytes.read(one)
            paths.append(one)
        }
        try Bytes.write(joined, to: path)
        return paths
    }

    private func setGain(_ gain: Int, in path: String) throws {
        var file = try OggFile(Bytes.read(path))
        let low = UInt8(truncatingIfNeeded: gain)
        let high = UInt8(truncatingIfNeeded: gain >> 8)
        // Behind the header of the page, at byte 16 of the codec's header.
        file.headers[0].replaceSubrange(28 + 16..<28 + 18, with: [low, high])
        try Bytes.write(file.renumbered, to: path)
    }

    @Test(arguments: Chain.all) func eachStreamSoundsAsItDoesAlone(chain: Chain) throws {
        let path = folder.path("all.ogg")
        let alone = try write(chain.parts, to: path).map { try ReadBack.file($0).pcm }
        let read = try ReadBack.file(path)
        #expect(read.damage.isEmpty && read.track.channelCount == chain.parts[0].channels)
        // The last page counts the last stream only.
        #expect(read.track.length == .none)
        #expect(alone.map(\.frames) == chain.parts.map(\.frames))
        #expect(Self.merged(read.stretches.map(\.pcm)) == Self.merged(alone))
        // Positions count at the rate of the first stream.
        let exact = chain.parts.reduce(0.0) { $0 + Double($1.frames) * Double(chain.parts[0].rate) / Double($1.rate) }
        let last = try #require(read.stretches.last)
        let end = Double(last.position) + Double(last.pcm.frames) * Double(chain.parts[0].rate) / Double(last.pcm.rate)
        #expect(abs(end - exact) <= Double(chain.parts.count))
    }

    @Test(arguments: Chain.all) func pipeSoundsAsTheFile(chain: Chain) throws {
        let path = folder.path("all.ogg")
        _ = try write(chain.parts, to: path)
        let file = try ReadBack.file(path)
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let read = try ReadBack(descriptor: pipe.reading)
        #expect(read.damage.isEmpty && Self.merged(read.stretches.map(\.pcm)) == Self.merged(file.stretches.map(\.pcm)))
    }

    /// Stretches that differ in nothing are one.
    private static func merged(_ parts: [PCM]) -> [PCM] {
        parts.reduce(into: []) { all, part in
            // `try?`: stretches that differ in rate or channels cannot be joined.
            if let last = all.last, let both = try? PCM.joined([last, part]) {
                all[all.count - 1] = both
            } else {
                all.append(part)
            }
        }
    }

    /// A decoder that shares no code with libav, on each stream alone.
    @Test(arguments: ["vorbis", "opus"]) func streamsAreThoseOfTheReferenceDecoder(codec: String) throws {
        let path = folder.path("all.ogg")
        let parts = [Part(codec: codec), Part(codec: codec, frames: 40_001, gain: codec == "opus" ? -768 : 0)]
        let alone = try write(parts, to: path)
        let pcm = try ReadBack.file(path).pcm.converted(to: .s16)
        var start = 0
        for one in alone {
            let heard = try (codec == "opus" ? Player.opusdec : .oggdec).decode(one, in: folder)
            let mine = try pcm.cut(start..<start + heard.frames)
            #expect(try mine.snr(against: heard).min()! > 45)
            start += heard.frames
        }
        #expect(pcm.frames == start)
    }

    /// Both streams have one serial number, and the last page seems to end the first.
    @Test(arguments: ["vorbis", "opus"]) func fileBehindItselfSoundsTwice(codec: String) throws {
        let (path, twice) = (folder.path("0.ogg"), folder.path("twice.ogg"))
        _ = try write([Part(codec: codec)], to: folder.path("all.ogg"))
        try Bytes.write(Bytes.read(path) + Bytes.read(path), to: twice)
        let (once, read) = (try ReadBack.file(path).pcm, try ReadBack.file(twice))
        #expect(try read.pcm == once.followed(by: once) && read.damage.isEmpty)
        #expect(read.track.length == .none)
    }

    /// Regression: the last page was taken for the end of the first stream. Speex was cut there.
    @Test(arguments: ["libspeex", "libvorbis", "flac"], [[90_123, 20_000], [20_000, 90_123], [3_000, 400_000]])
    func streamsOfOneSerialNumberSoundOneAfterTheOther(codec: String, frames: [Int]) throws {
        let paths = frames.indices.map { folder.path("\($0).ogg") }
        for (path, frames) in zip(paths, frames) {
            let clip = Signal.noise(seed: UInt64(frames), rate: 16_000, frames: frames, amplitude: 0.3).pcm(.s16)
            try FFmpeg.encode(clip, to: path, ["-c:a", codec, "-fflags", "+bitexact"])
        }
        let alone = try paths.map { try ReadBack.file($0).pcm }
        let path = folder.path("all.ogg")
        try Bytes.write(Bytes.read(paths[0]) + Bytes.read(paths[1]), to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.length == .none && read.damage.isEmpty)
        #expect(try read.pcm == alone[0].followed(by: alone[1]))
    }

    @Test func emptyStreamIsPassedOver() throws {
        let (wav, empty, path) = (folder.path("e.wav"), folder.path("e.ogg"), folder.path("all.ogg"))
        let alone = try write([Part(codec: "vorbis"), Part(codec: "vorbis6", frames: 40_001)], to: path)
        try WAVFile.write(Signal.silence(rate: 48_000, frames: 0, channels: 2).pcm(.s16), to: wav)
        try Run.program("oggenc", ["-Q", "-s", "77", wav, "-o", empty]).checked()
        try Bytes.write(try Bytes.read(alone[0]) + Bytes.read(empty) + Bytes.read(alone[1]), to: path)
        let (first, second) = (try ReadBack.file(alone[0]).pcm, try ReadBack.file(alone[1]).pcm)
        #expect(try ReadBack.file(path).pcm == first.followed(by: second))
    }

    @Test func rangesLieInAnyStream() throws {
        let path = folder.path("all.ogg")
        _ = try write([Part(codec: "vorbis"), Part(codec: "vorbis6"), Part(codec: "vorbis")], to: path)
        let whole = try ReadBack.file(path).pcm
        let file = try OpenFile.reading(path)
        let reader = try Reader(descriptor: file.descriptor)
        for start in [60_000, 10, 49_000, 120_000, 51_000] {
            let range = try MediaTimeRange(
                start: MediaTime(frames: Int64(start), rate: 48_000),
                duration: MediaTime(frames: 5_000, rate: 48_000)
            )
            let block = try reader.read(range)
            let expected = try whole.cut(start..<start + 5_000)
            #expect(block.bytes == expected.bytes, "\(start)")
            #expect(try ReadBack.file(path, [range]).pcm == expected, "\(start)")
        }
    }

    @Test func brokenHeadersOfALaterStreamAreDamage() throws {
        let path = folder.path("all.ogg")
        let alone = try write([Part(codec: "vorbis"), Part(codec: "vorbis6")], to: path)
        var bytes = try Bytes.read(path)
        let second = try Bytes.size(of: alone[0])
        // The headers take several thousand bytes.
        for place in second + 300..<second + 360 { bytes[place] ^= 0x5A }
        try Bytes.write(bytes, to: path)
        #expect(Converted.code { _ = try ReadBack.file(path) } == .corruptStream)
        let borne = try ReadBack.file(path, options: .init(damage: .skip))
        #expect(try borne.pcm.frames == 50_123 && !borne.damage.isEmpty)
    }

    /// Regression: what a damaged page at the end of a stream held was missing, with success.
    /// libav opens no Vorbis without a good page of sound.
    @Test(arguments: [("vorbis", 150_000), ("opus", 150_000), ("opus", 3_000), ("flac", 150_000), ("flac", 3_000)])
    func damagedEndOfAStreamIsFound(codec: String, frames: Int) throws {
        let path = folder.path("all.ogg")
        let alone = try write([Part(codec: codec, frames: frames), Part(codec: codec)], to: path)
        let (first, second) = (try Bytes.read(alone[0]), try Bytes.read(alone[1]))
        var changed = first
        changed[first.count - 20] ^= 0x5A
        for damaged in [changed, Array(first.dropLast(20))] {
            try Bytes.write(damaged + second, to: path)
            #expect(Converted.code { _ = try ReadBack.file(path) } == .corruptStream)
            let pipe = try FilledPipe.holding(damaged + second)
            #expect(Converted.code { _ = try ReadBack(descriptor: pipe.reading) } == .corruptStream)
            let borne = try ReadBack.file(path, options: .init(damage: .skip))
            #expect(!borne.damage.isEmpty && borne.deliveredFrames >= 50_123)
        }
    }

    /// As broadcasts do.
    @Test(arguments: ["vorbis", "opus"]) func aStreamMayStopBehindAWholePage(codec: String) throws {
        let path = folder.path("all.ogg")
        let alone = try write([Part(codec: codec, frames: 150_000), Part(codec: codec)], to: path)
        var first = try OggFile(Bytes.read(alone[0]))
        first.sound.removeLast()
        try Bytes.write(first.bytes + Bytes.read(alone[1]), to: path)
        let read = try ReadBack.file(path)
        #expect(read.damage.isEmpty && (50_123 + 90_000..<200_123).contains(Int(read.deliveredFrames)))
    }

    /// Regression: a stream of another codec behind the first was called damage.
    @Test(arguments: ["vorbis6", "opus"]) func chainIsNotCopied(second: String) throws {
        let path = folder.path("all.ogg")
        _ = try write([Part(codec: "vorbis"), Part(codec: second)], to: path)
        let copy = AudioFormat(container: .ogg, codec: .copy)
        #expect(
            Converted.code { try Converted.file(path, to: folder.path("out.ogg"), as: copy) } == .passthroughRefused
        )
    }
}
