import Conversion
import TestSupport
import Testing

@testable import Media

/// MP4 with inexact sample durations: copied from containers that round, stamped by recorders, or rounded to coarse
/// ticks. The packets are the clock, and a gap is a difference that no rounding explains.
@Suite struct SampleDurationTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 61, rate: 44_100, frames: 200_000, channels: 2, amplitude: 0.2).pcm(
        .s16
    )

    init() throws { folder = try TemporaryFolder.create() }

    enum Codec: String, CaseIterable, Sendable {
        case aac, mp3, ac3, alac, flac, opus

        var arguments: [String] {
            switch self {
            // Substituted noise (PNS) differs after a skip.
            case .aac: ["-c:a", "aac", "-aac_pns", "0"]
            case .mp3: ["-c:a", "libmp3lame"]
            case .ac3: ["-c:a", "ac3"]
            case .alac: ["-c:a", "alac"]
            case .flac: ["-c:a", "flac", "-strict", "-2"]
            case .opus: ["-c:a", "libopus", "-ar", "48000"]
            }
        }

        var packetFrames: Int {
            switch self {
            case .aac: 1024
            case .mp3: 1152
            case .ac3: 1536
            case .alac: 4096
            case .flac: 4608
            case .opus: 960
            }
        }
    }

    /// How a table deviates from whole packets.
    enum Table: String, CaseIterable, Sendable {
        case swings, jitters, drifts, leaps, milliseconds

        func durations(_ count: Int, of frames: Int, rate: Int) -> [Int] {
            var generator = SeededGenerator(seed: 7)
            func spread(_ places: [Int]) -> [Int] { zip(places, places.dropFirst()).map { $1 - $0 } }
            return switch self {
            case .swings: (0..<count).map { frames + ($0 % 2 == 0 ? -1 : 1) }
            case .jitters:
                spread(
                    (0...count).map { $0 * frames + ($0 == 0 || $0 == count ? 0 : Int(generator.unit() * 400) - 200) }
                )
            case .drifts: (0..<count).map { frames + ($0 % 3 == 0 ? 3 : 0) }
            // The microphone starts late.
            case .leaps: (0..<count).map { $0 == 0 ? frames + 700 : frames }
            case .milliseconds: spread((0...count).map { $0 * frames * 1000 / rate * rate / 1000 })
            }
        }
    }

    /// A file of whole packets without edits, and its sound as decoded by `ffmpeg`.
    private func made(_ codec: Codec) throws -> (bytes: [UInt8], tables: MP4Tables, pcm: PCM) {
        let path = folder.path("whole.mp4")
        try FFmpeg.encode(Self.sound, to: path, codec.arguments)
        var bytes = try Bytes.read(path)
        if let edits = Bytes.find("edts", in: bytes) {
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
        }
        try Bytes.write(bytes, to: path)
        let format: PCM.SampleFormat = codec == .alac || codec == .flac ? .s16 : .f32
        return (bytes, try MP4Tables(bytes), try FFmpeg.decode(path, to: format))
    }

    /// Sets another timescale and a length in its ticks.
    private func setScale(_ bytes: inout [UInt8], _ scale: Int, _ length: Int) throws {
        let header = try #require(Bytes.find("mdhd", in: bytes)) + 4
        bytes.replaceSubrange(
            (header + 12)..<(header + 20),
            with: bigEndianBytes(Int64(scale), count: 4) + bigEndianBytes(Int64(length), count: 4)
        )
    }

    private func write(_ tables: MP4Tables, _ durations: [Int], scale: Int) throws -> String {
        let path = folder.path("changed.m4a")
        var bytes = try tables.written(durations: durations)
        try setScale(&bytes, scale, durations.reduce(0, +))
        try Bytes.write(bytes, to: path)
        return path
    }

    private func rate(_ codec: Codec) -> Int { codec == .opus ? 48_000 : 44_100 }

    /// Regression: intact sound was reported as corrupt and repaired in 163 places.
    @Test(arguments: Codec.allCases, Table.allCases)
    func roundingOfDurationsIsNoDamage(codec: Codec, table: Table) throws {
        let (_, tables, pcm) = try made(codec)
        let durations = table.durations(tables.sizes.count, of: codec.packetFrames, rate: rate(codec))
        let path = try write(tables, durations, scale: rate(codec))
        for damage in [DamageMode.strict, .conceal] {
            let read = try Decoded.file(path, damage: damage)
            #expect(read.damage.isEmpty && read.frames == pcm.frames, "\(read.damage)")
            #expect(read.pcm.converted(to: pcm.format) == pcm)
        }
    }

    @Test(arguments: Codec.allCases, [600, 1_000, 8_000, 44_100, 48_000, 90_000, 1_000_000])
    func ticksOfAnyLengthCountNothing(codec: Codec, scale: Int) throws {
        let (_, tables, pcm) = try made(codec)
        let count = tables.sizes.count
        let places = (0...count).map { ($0 * codec.packetFrames * scale + rate(codec) / 2) / rate(codec) }
        let rounded = zip(places, places.dropFirst()).map { $1 - $0 }
        let cut = Array(repeating: codec.packetFrames * scale / rate(codec), count: count)
        for durations in [rounded, cut] {
            let read = try Decoded.file(try write(tables, durations, scale: scale))
            #expect(read.damage.isEmpty && read.frames == pcm.frames)
            #expect(read.pcm.converted(to: pcm.format) == pcm)
        }
    }

    /// Twenty packets are missing, in a table of whole packets and in one with other durations.
    @Test(arguments: Codec.allCases, [true, false])
    func gapIsFoundAndFilled(codec: Codec, isSteady: Bool) throws {
        let (_, tables, pcm) = try made(codec)
        let (count, frames) = (tables.sizes.count, codec.packetFrames)
        var durations =
            isSteady ? Array(repeating: frames, count: count) : Table.swings.durations(count, of: frames, rate: 0)
        durations[count / 2] += 20 * frames + 7
        let path = try write(tables, durations, scale: rate(codec))
        let error = #expect(throws: MediaError.self) { try Decoded.file(path) }
        #expect(error?.code == .timelineGap)
        // Without a limit of the caller, so much silence is refused.
        let read = try Decoded.file(path, damage: .conceal, concealSeconds: 10)
        #expect(read.damage.stretches.map(\.frames) == [Int64(20 * frames)])
        #expect(read.frames == pcm.frames + 20 * frames)
        let start = Int(read.damage.stretches[0].start)
        #expect(try read.pcm.converted(to: pcm.format).cut(0..<start) == pcm.cut(0..<start))
        let behind = try read.pcm.converted(to: pcm.format).cut((start + 20 * frames)..<read.frames)
        #expect(try behind == pcm.cut(start..<pcm.frames))
    }

    /// Regression: a gap of seconds was ignored, and its frames were reported as missing at the end.
    @Test(arguments: Codec.allCases) func longGapIsFilledWhereItIs(codec: Codec) throws {
        let (_, tables, pcm) = try made(codec)
        var durations = Array(repeating: codec.packetFrames, count: tables.sizes.count)
        let gap = (100_000 / codec.packetFrames + 1) * codec.packetFrames
        durations[tables.sizes.count / 2] += gap
        let path = try write(tables, durations, scale: rate(codec))
        let read = try Decoded.file(path, damage: .conceal, concealSeconds: 10)
        #expect(read.damage.stretches.first?.frames == Int64(gap) && read.frames >= pcm.frames + gap)
        #expect(read.damage.stretches.first?.code == .timelineGap)
    }

    /// A lost packet shifts the times by more than this table ever deviates.
    @Test func lostPacketIsFoundInATableThatSwings() throws {
        let (_, tables, pcm) = try made(.aac)
        let count = tables.sizes.count
        var (durations, sizes, places) = (Table.swings.durations(count, of: 1024, rate: 0), tables.sizes, tables.places)
        let lost = count / 2
        durations[lost - 1] += durations[lost]
        for index in [lost] {
            durations.remove(at: index)
            sizes.remove(at: index)
            places.remove(at: index)
        }
        let path = folder.path("lost.m4a")
        var bytes = try tables.written(durations: durations, sizes: sizes, places: places)
        try setScale(&bytes, 44_100, durations.reduce(0, +))
        try Bytes.write(bytes, to: path)
        let error = #expect(throws: MediaError.self) { try Decoded.file(path) }
        #expect(error?.code == .timelineGap)
        let read = try Decoded.file(path, damage: .conceal)
        #expect(read.frames == pcm.frames && read.damage.frames == 1_024)
    }

    @Test func missingEndIsFoundInATableThatJitters() throws {
        let (_, tables, pcm) = try made(.aac)
        let count = tables.sizes.count
        let path = folder.path("cut.m4a")
        // The last ten samples point beyond the end of the file.
        let places = tables.places.enumerated().map { $0.offset < count - 10 ? $0.element : 1 << 30 }
        let durations = Table.jitters.durations(count, of: 1024, rate: 0)
        var bytes = try tables.written(durations: durations, places: places)
        try setScale(&bytes, 44_100, durations.reduce(0, +))
        try Bytes.write(bytes, to: path)
        #expect(throws: MediaError.self) { try Decoded.file(path) }
        let read = try Decoded.file(path, damage: .conceal)
        #expect(read.damage.frames == 10 * 1_024 && read.frames == pcm.frames)
    }

    /// The usual handling of recordings of broadcasts and streams.
    @Test(arguments: ["aac", "mp3", "mp2", "ac3", "eac3"])
    func soundCopiedOutOfATransportStreamIsWhole(codec: String) throws {
        let (stream, path) = (folder.path("a.ts"), folder.path("b.m4a"))
        try FFmpeg.encode(Self.sound, to: stream, ["-c:a", codec == "mp3" ? "libmp3lame" : codec])
        let fragments = ["-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "500000"]
        let bare = codec == "aac" ? ["-bsf:a", "aac_adtstoasc"] : []
        for extra in codec == "aac" || codec == "mp3" ? [[], fragments] : [[]] {
            try FFmpeg.encode(stream, to: path, ["-f", "mp4", "-c", "copy"] + bare + extra)
            let (read, expected) = (try Decoded.file(path), try FFmpeg.decode(path, to: .f32))
            #expect(read.damage.isEmpty && read.pcm == expected, "\(extra)")
            #expect(try read.frames == FFmpeg.decode(stream).frames)
            // A file that begins with fragments describes AAC too poorly for other containers.
            guard extra.isEmpty else { continue }
            for container in codec == "aac" ? [Container.mp4, .mka] : codec == "mp3" ? [.mka] : [] {
                let copied = folder.path("c.\(container.fileExtensions[0])")
                try Converted.file(
                    path,
                    to: copied,
                    as: AudioFormat(container: container, codec: .copy),
                    verifies: true
                )
                #expect(try Decoded.file(copied).pcm == expected)
            }
        }
    }

    @Test(arguments: ["aac", "libmp3lame", "ac3", "libopus", "libvorbis", "flac", "alac"])
    func soundCopiedOutOfMatroskaIsWhole(codec: String) throws {
        let (stream, path) = (folder.path("a.mka"), folder.path("b.mp4"))
        try FFmpeg.encode(Self.sound, to: stream, ["-c:a", codec])
        try FFmpeg.encode(stream, to: path, ["-c", "copy", "-strict", "-2"])
        let (read, expected) = (try Decoded.file(path), try Decoded.file(stream))
        #expect(read.damage.isEmpty)
        // The duration of the last packet is rounded to Matroska's milliseconds.
        #expect(abs(read.frames - expected.frames) <= 1_536)
        let common = min(read.frames, expected.frames)
        #expect(try read.pcm.cut(0..<common) == expected.pcm.cut(0..<common))
    }

    @Test(arguments: [Table.swings, .jitters, .milliseconds]) func rangesCountPackets(table: Table) throws {
        let (_, tables, pcm) = try made(.aac)
        let durations = table.durations(tables.sizes.count, of: 1024, rate: 44_100)
        let path = try write(tables, durations, scale: 44_100)
        let parts = [150_000..<190_000, 100..<1_000, 170_000..<170_001]
        let ranges = try parts.map { part in
            try MediaTimeRange(
                start: MediaTime(value: Int64(part.lowerBound), timescale: 44_100),
                end: MediaTime(value: Int64(part.upperBound), timescale: 44_100)
            )
        }
        #expect(try ReadBack.file(path, ranges).pcm == PCM.joined(parts.map { try pcm.cut($0) }))
    }

    /// Without an edit list, the codec's header states the pre-skip.
    @Test func opusWithoutEditsBeginsBehindItsPreSkip() throws {
        let (bytes, _, pcm) = try made(.opus)
        let path = folder.path("opus.mp4")
        try Bytes.write(bytes, to: path)
        let read = try Decoded.file(path)
        #expect(read.damage.isEmpty && read.track.primingFrames == 312)
        #expect(try read.pcm == pcm.cut(0..<read.frames) && pcm.frames - read.frames < 960)
    }
}
