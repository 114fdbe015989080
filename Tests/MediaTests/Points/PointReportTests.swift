import Conversion
import TestSupport
import Testing

@testable import Media

/// All points of whole files, read by the library as programs call it.
@Suite struct PointReportTests {
    private let folder: TemporaryFolder
    private static let rate = 8_000

    init() throws { folder = try TemporaryFolder.create() }

    private func report(_ path: String, damage: DamageMode = .strict, _ rules: PointRules = PointRules()) throws
        -> PointReport
    {
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor, options: .init(nameHint: path, damage: damage)).points(
            of: nil,
            rules
        )
    }

    /// Two channels of sound in which no sample is equal to its neighbour or to the other channel, and what is done to it.
    private static let signal: Signal = {
        var (first, second): ([Double], [Double]) = ([], [])
        for frame in 0..<40_000 {
            let sign: Double = frame % 2 == 0 ? 1 : -1
            let (rest, other) = (Double(frame % 97), Double(frame % 89))
            first.append(sign * (0.1 + 0.0001 * rest))
            second.append(-sign * (0.12 + 0.0001 * other))
        }
        let silent: [Range<Int>] = [0..<4_000, 12_000..<16_000, 39_000..<39_040, 39_500..<40_000]
        for range in silent {
            for frame in range { (first[frame], second[frame]) = (0, 0) }
        }
        for frame in 16_000..<26_000 { second[frame] = 0 }
        for frame in 26_000..<36_000 { second[frame] = first[frame] }
        for frame in 38_000..<38_004 { first[frame] = 1 }
        return Signal(rate: rate, channels: [first, second])
    }()

    private static let expected: [SourcePoint] = [
        SourcePoint(.silence, at: 0, frames: 4_000), SourcePoint(.soundStart, at: 4_000),
        SourcePoint(.silence, at: 12_000, frames: 4_000),
        SourcePoint(.silentChannel, at: 16_000, frames: 10_000, channels: [2]),
        SourcePoint(.equalChannels, at: 26_000, frames: 10_000, channels: [1, 2]),
        SourcePoint(.clipping, at: 38_000, frames: 4, channels: [1], value: 4),
        SourcePoint(.dropout, at: 39_000, frames: 40, channels: [1, 2]), SourcePoint(.soundEnd, at: 39_500),
    ]

    @Test(arguments: ["wav", "aiff", "caf", "flac", "m4a", "mka"]) func pointsAreExactInAllContainers(
        suffix: String
    ) throws {
        let path = folder.path("a.\(suffix)")
        try FFmpeg.encode(
            Self.signal.pcm(.s16),
            to: path,
            suffix == "m4a" ? ["-c:a", "alac"] : ["-c:a", codec(suffix)]
        )
        let report = try report(path)
        #expect(report.points == Self.expected)
        #expect(report.frames == 40_000 && report.sampleRateHz == Self.rate)
        #expect(report.found.isEmpty && report.outside == 0)
    }

    private func codec(_ suffix: String) -> String {
        switch suffix {
        case "aiff": "pcm_s16be"
        case "flac", "mka": "flac"
        default: "pcm_s16le"
        }
    }

    @Test func silenceIsWhatTheRulesCallSo() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Self.signal.pcm(.s16), to: path)
        let long = SilenceTrim(
            threshold: .init(decibels: -60) ?? .silence,
            shortest: MediaTime(value: 4_001, timescale: 8_000)
        )
        #expect(try report(path, PointRules(silence: long)).points.allSatisfy { $0.kind != .silence })
        // Above all of the sound but the clipped samples.
        let loud = SilenceTrim(threshold: .init(decibels: -6) ?? .silence, shortest: .zero)
        let points = try report(path, PointRules(silence: loud)).points
        #expect(points.filter { $0.kind == .silence }.map(\.frame) == [0, 38_004])
        #expect(points.first { $0.kind == .soundEnd }?.frame == 38_004)
    }

    @Test func silentFileHasOneSilenceAndNoSound() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Signal.silence(rate: Self.rate, frames: 9_000, channels: 2).pcm(.s16), to: path)
        #expect(try report(path).points == [SourcePoint(.silence, at: 0, frames: 9_000)])
    }

    @Test func emptyFileHasNoPoints() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Signal.silence(rate: Self.rate, frames: 0).pcm(.s16), to: path)
        let report = try report(path)
        #expect(report.points.isEmpty && report.frames == 0)
    }

    /// The finder of the second channel tells of the common run first, because another one follows.
    @Test func commonRunsNameTheirChannelsInOrder() throws {
        let path = folder.path("a.wav")
        var channels = Self.signal.channels.map { Array($0[4_000..<12_000]) }
        for frame in 100..<104 { (channels[0][frame], channels[1][frame]) = (1, 1) }
        for frame in 5_000..<5_004 { channels[1][frame] = 1 }
        try WAVFile.write(Signal(rate: Self.rate, channels: channels).pcm(.s16), to: path)
        let expected = [
            SourcePoint(.clipping, at: 100, frames: 4, channels: [1, 2], value: 8),
            SourcePoint(.clipping, at: 5_000, frames: 4, channels: [2], value: 4),
        ]
        #expect(try report(path).points.filter { $0.kind == .clipping } == expected)
    }

    @Test func offsetOfAChannelIsItsMean() throws {
        let path = folder.path("a.wav")
        let pairs: [Double] = (0..<8_000).map { $0 % 2 == 0 ? 0.25 : -0.125 }
        let centred: [Double] = (0..<8_000).map { $0 % 2 == 0 ? 0.25 : -0.25 }
        try WAVFile.write(Signal(rate: Self.rate, channels: [centred, pairs]).pcm(.s16), to: path)
        let found = try report(path).points.filter { $0.kind == .offset }
        #expect(found == [SourcePoint(.offset, at: 0, frames: 8_000, channels: [2], value: 0.0625)])
    }

    @Test func lostSoundIsDamageAndNotSilence() throws {
        let path = folder.path("a.wav")
        let noise = Signal.noise(seed: 2, rate: Self.rate, frames: 16_000, channels: 2, amplitude: 0.2)
        try WAVFile.write(noise.pcm(.s16), to: path)
        try Bytes.truncate(path, to: try Bytes.size(of: path) - 4_000 * 4)
        let points = try report(path, damage: .conceal).points.filter { ![.soundStart, .soundEnd].contains($0.kind) }
        #expect(points == [SourcePoint(.damage, at: 12_000, frames: 4_000, text: "truncated")])
        #expect(Converted.code { _ = try report(path) } == .truncated)
    }

    /// FLAC of one channel of noise, in which the samples of some blocks are overwritten, so that their checksums are wrong.
    private func flac(_ rates: [Int], blocks: Int, of frames: Int, isLost: (Int) -> Bool) throws -> String {
        var file = FLACFile(rate: rates[0], channels: 1, bits: 16, frames: 0, blockFrames: frames)
        var lost: [Int] = []
        for number in 0..<rates.count * blocks {
            let rate = rates[number / blocks]
            if isLost(number) { lost.append(file.bytes.count + 40) }
            let noise = Signal.noise(seed: UInt64(number), rate: rate, frames: frames, amplitude: 0.2)
            file.append(noise.integers(bits: 16), rate: rate, bits: 16)
        }
        var bytes = file.bytes
        for place in lost { bytes.replaceSubrange(place..<place + 100, with: [UInt8](repeating: 0, count: 100)) }
        let path = folder.path("lost.flac")
        try Bytes.write(bytes, to: path)
        return path
    }

    /// More places than an account of damage lists. Each is as short as a dropout.
    @Test func lostSoundIsNoDropoutAlsoWhereItIsNotListed() throws {
        let path = try flac([Self.rate], blocks: 330, of: 256) { $0 % 3 == 1 }
        let report = try report(path, damage: .conceal)
        let found = report.points.filter { ![.soundStart, .soundEnd, .ending].contains($0.kind) }
        let expected = (0..<100).map { number -> SourcePoint in
            SourcePoint(.damage, at: Int64(256 + 768 * number), frames: 256, text: "corrupt_stream")
        }
        #expect(found == expected)
        #expect(report.frames == 330 * 256 && report.found == ["damage": 110])
    }

    /// The silence in place of lost sound has the rate with which the track began.
    @Test func lostSoundIsNoChangeOfFormat() throws {
        let path = try flac([44_100, 22_050], blocks: 10, of: 1_000) { $0 == 15 }
        let points = try report(path, damage: .conceal).points.filter { [.damage, .formatChange].contains($0.kind) }
        let expected = [
            SourcePoint(.formatChange, at: 10_000, text: "44.1 kHz mono to 22.05 kHz mono"),
            SourcePoint(.damage, at: 20_000, frames: 2_000, text: "corrupt_stream"),
        ]
        #expect(points == expected)
    }

    @Test func pauseOfAnEditListIsSilenceAndNoDropout() throws {
        let path = folder.path("a.m4a")
        let noise = Signal.noise(seed: 7, rate: 44_100, frames: 200_000, channels: 2, amplitude: 0.2)
        try FFmpeg.encode(noise.pcm(.s16), to: path, ["-c:a", "alac"])
        typealias Edit = MP4Bytes.Edit
        let edits = [
            Edit(length: 50_000, start: 100_000), Edit(length: 1_000, start: -1), Edit(length: 50_000, start: 1_000),
            Edit(length: 40_000, start: -1), Edit(length: 50_000, start: 100_000),
        ]
        try MP4Bytes.setEdits(path, movieTimescale: 44_100, edits)
        let points = try report(path).points.filter { [.silence, .dropout].contains($0.kind) }
        #expect(points == [SourcePoint(.silence, at: 101_000, frames: 40_000)])
    }

    @Test func changeOfFormatIsAPoint() throws {
        let path = folder.path("a.mp2")
        var joined: [UInt8] = []
        for (number, channels) in [2, 1].enumerated() {
            let part = folder.path("\(number).mp2")
            let tone = Signal.tone(1_000, rate: 44_100, frames: 30_000, channels: channels, amplitude: 0.2)
            try FFmpeg.encode(tone.pcm(.s16), to: part)
            joined += try Bytes.read(part)
        }
        try Bytes.write(joined, to: path)
        let found = try report(path).points.filter { $0.kind == .formatChange }
        // 27 packets of 1,152 frames.
        #expect(found == [SourcePoint(.formatChange, at: 31_104, text: "44.1 kHz stereo to 44.1 kHz mono")])
    }

    @Test func editsAndChaptersAreExact() throws {
        let path = folder.path("a.m4a")
        let noise = Signal.noise(seed: 7, rate: 44_100, frames: 400_000, channels: 2, amplitude: 0.2)
        try FFmpeg.encode(noise.pcm(.s16), to: path, ["-c:a", "alac"])
        typealias Edit = MP4Bytes.Edit
        let edits = [
            Edit(length: 50_000, start: 300_000), Edit(length: 10_000, start: -1), Edit(length: 60_000, start: 1_000),
        ]
        try MP4Bytes.setEdits(path, movieTimescale: 44_100, edits)
        let report = try report(path)
        let expected = [
            SourcePoint(.edit, at: 0, frames: 50_000, text: "from frame 300,000 of the media"),
            SourcePoint(.edit, at: 50_000, frames: 10_000, text: "silence"),
            SourcePoint(.edit, at: 60_000, frames: 60_000, text: "from frame 1,000 of the media"),
        ]
        #expect(report.points.filter { $0.kind == .edit } == expected)
        #expect(report.frames == 120_000)
    }

    @Test func chaptersHaveTheirTitlesAndLengths() throws {
        let (path, list) = (folder.path("a.mka"), folder.path("chapters.txt"))
        let head = ";FFMETADATA1\n"
        let chapters =
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n"
            + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Two\n"
        try Bytes.write(Array((head + chapters).utf8), to: list)
        let plain = folder.path("a.wav")
        let noise = Signal.noise(seed: 7, rate: Self.rate, frames: 16_000, channels: 2, amplitude: 0.2)
        try WAVFile.write(noise.pcm(.s16), to: plain)
        try FFmpeg.encode(plain, to: path, ["-i", list, "-map_metadata", "1", "-c:a", "flac"])
        let found = try report(path).points.filter { $0.kind == .chapter }
        let expected = [
            SourcePoint(.chapter, at: 0, frames: 8_000, text: "One"),
            SourcePoint(.chapter, at: 8_000, frames: 8_000, text: "Two"),
        ]
        #expect(found == expected)
    }
}
