import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Outputs that are parts of the source: one decode, cut exactly, with one encoder at a time.
@Suite struct PieceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let rate = 44_100
    private static let noise = Signal.noise(seed: 21, rate: rate, frames: 30_011, channels: 2, amplitude: 0.9).pcm(.s16)
    /// Cuts in the middle of blocks, several within one block, and one of a single frame.
    private static let cuts = [1_001, 1_002, 1_500, 4_608, 20_000, 29_000]

    /// The ranges between frames; the last one ends with the source.
    private static func ranges(_ cuts: [Int]) throws -> [MediaTimeRange] {
        let times = cuts.map { MediaTime(frames: Int64($0), rate: rate) }
        return try zip([.zero] + times, times + [.positiveInfinity]).map { try MediaTimeRange(start: $0, end: $1) }
    }

    private func source(_ name: String = "in.wav", _ words: [String] = []) throws -> String {
        let path = folder.path(name)
        if name.hasSuffix(".wav") {
            try WAVFile.write(Self.noise, to: path)
        } else {
            try FFmpeg.encode(Self.noise, to: path, words)
        }
        return path
    }

    /// Cuts `input` into files of `format`. A request for each file has the same ranges, tags and formats.
    private func run(
        _ input: String,
        _ format: AudioFormat,
        _ ranges: [MediaTimeRange],
        _ change: (inout Converter.Request) -> Void = { _ in }
    ) throws -> (paths: [String], outcomes: [Converter.Outcome]) {
        var request = Converter.Request(format: format, nameHint: input)
        request.furtherFormats = Array(repeating: format, count: ranges.count - 1)
        request.outputRanges = ranges
        change(&request)
        let source = try OpenFile.reading(input)
        let paths = ranges.indices.map { folder.path("piece-\($0)") }
        let files = paths.map { open($0, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        defer { for file in files { close(file) } }
        try #require(files.allSatisfy { $0 >= 0 })
        return (paths, try Converter(request).run(from: [source.descriptor], to: files))
    }

    private func refusal(_ body: () throws -> Void) throws -> MediaError {
        try #require(throws: MediaError.self) { try body() }
    }

    private static let wave = AudioFormat(container: .wav, codec: .pcm)

    @Test func piecesAreTheSamplesOfTheSource() throws {
        let (paths, outcomes) = try run(try source(), Self.wave, try Self.ranges(Self.cuts)) { $0.verifies = true }
        let bounds = [0] + Self.cuts + [Self.noise.frames]
        for (index, path) in paths.enumerated() {
            #expect(try WAVFile.read(path: path) == Self.noise.cut(bounds[index]..<bounds[index + 1]), "\(index)")
            let summary = outcomes[index].summary
            #expect(summary.plannedFrames == Int64(bounds[index + 1] - bounds[index]))
            #expect(summary.plannedFrames == summary.writtenFrames && outcomes[index].verified != nil)
        }
    }

    /// A piece is what a conversion of its range alone makes, resampled or encoded.
    @Test(arguments: [
        AudioFormat(container: .flac, codec: .flac), AudioFormat(container: .mp3, codec: .mp3),
        AudioFormat(container: .ogg, codec: .opus), AudioFormat(container: .m4a, codec: .aac),
        AudioFormat(container: .flac, codec: .flac, sampleRateHz: 48_000, channelCount: 1),
    ]) func eachPieceIsAsIfItWereTheOnlyOne(format: AudioFormat) throws {
        let (input, ranges) = (try source(), try Self.ranges([1_500, 4_608, 20_000]))
        let (paths, outcomes) = try run(input, format, ranges)
        let made = try paths.map { try Bytes.read($0) }
        for (index, range) in ranges.enumerated() {
            let alone = try run(input, format, [.whole]) { request in
                (request.outputRanges, request.ranges) = ([], [range])
            }
            #expect(try Bytes.read(alone.paths[0]) == made[index], "piece \(index)")
            #expect(alone.outcomes[0].summary == outcomes[index].summary)
        }
    }

    /// A decoder that has state gives the samples that the whole file has, because it decodes the whole file.
    @Test(arguments: [("in.mp3", ["-b:a", "96k"]), ("in.mp3", ["-write_xing", "0"]), ("in.ogg", []), ("in.m4a", [])])
    func lossyPiecesJoinedAreTheWhole(name: String, words: [String]) throws {
        let input = try source(name, words)
        let floats = AudioFormat(container: .wav, codec: .pcm, bitDepth: 32, sampleKind: .float)
        let whole = try run(input, floats, [.whole]) { $0.outputRanges = [] }
        let expected = try WAVFile.read(path: whole.paths[0])
        let pieces = try run(input, floats, try Self.ranges([7, 1_153, 11_111])).paths.map {
            try WAVFile.read(path: $0)
        }
        #expect(pieces.map(\.frames) == [7, 1_146, 9_958, expected.frames - 11_111])
        #expect(try PCM.joined(pieces) == expected)
    }

    @Test func gapsAreLeftOutAndReadingEndsWithTheLastPiece() throws {
        let times = [100, 200, 5_000, 6_000].map { MediaTime(frames: $0, rate: Self.rate) }
        let ranges = [
            try MediaTimeRange(start: times[0], end: times[1]), try MediaTimeRange(start: times[2], end: times[3]),
        ]
        let (paths, outcomes) = try run(try source(), Self.wave, ranges)
        #expect(try WAVFile.read(path: paths[0]) == Self.noise.cut(100..<200))
        #expect(try WAVFile.read(path: paths[1]) == Self.noise.cut(5_000..<6_000))
        #expect(outcomes[0].sourceFrames == 5_900)
    }

    @Test func aSourceThatIsTooShortIsRefused() throws {
        for (cuts, output) in [([1_000, 30_011], 3), ([1_000, 30_012], 2)] {
            let early = try refusal { _ = try run(try source(), Self.wave, try Self.ranges(cuts)) }
            #expect(early.code == .rangeOutsideSource && early.stage == .open, "\(early)")
            #expect(early.output == output && early.detail.hasPrefix("the range "), "\(early)")
        }
        // A file that does not state its length is decoded to its end first.
        let unknown = try source("short.mp3", ["-write_xing", "0"])
        let late = try refusal { _ = try run(unknown, Self.wave, try Self.ranges([1_000, 99_000])) }
        #expect(late.code == .rangeOutsideSource && late.output == 2, "\(late)")
        let within = try refusal { _ = try run(try source(), Self.wave, try Self.ranges([1_000, 1_000])) }
        #expect(within.detail.hasSuffix("holds no frame"), "\(within)")
    }

    @Test func tagsOfAPieceWin() throws {
        let (paths, _) = try run(try source(), AudioFormat(container: .flac, codec: .flac), try Self.ranges([9_000])) {
            // "tracknumber" is the same tag as "track".
            $0.tags = ["Title": "Book", "artist": "Ada", "tracknumber": "7"]
            $0.outputTags = [["title": "One", "track": "1/2"], ["track": "2/2", "artist": ""]]
        }
        let tags = try paths.map { path -> [String: String] in
            let tags = try FFmpeg.probe(path).tags
            return Dictionary(uniqueKeysWithValues: tags.map { ($0.key.lowercased(), $0.value) })
        }
        // FLAC keeps a number and its total apart.
        #expect(tags[0] == ["title": "One", "artist": "Ada", "track": "1", "tracktotal": "2"])
        #expect(tags[1] == ["title": "Book", "track": "2", "tracktotal": "2"])
    }

    @Test func asManyPiecesAsARecipeHolds() throws {
        let cuts = (1..<Recipe.maximumPieces).map { $0 * 150 }
        let (paths, _) = try run(try source(), Self.wave, try Self.ranges(cuts))
        #expect(paths.count == 200)
        let pieces = try paths.map { try WAVFile.read(path: $0) }
        #expect(try PCM.joined(pieces) == Self.noise)
    }

    private struct Passed {
        weak var writer: Writer?
    }

    /// However many pieces there are, the writer of one is gone before the next is opened.
    @Test func oneWriterIsOpenAtATime() throws {
        let reader = try Reader(descriptor: OpenFile.reading(source()).release())
        let track = try reader.track()
        let format = try Self.wave.resolved(for: track.shape)
        var passed: [Passed] = []
        let cutter = try PieceCutter(try Self.ranges(Self.cuts), of: track) { index in
            #expect(passed.count == index && passed.allSatisfy { $0.writer == nil })
            let file = try OpenFile.creating(folder.path("one-\(index)")).release()
            let writer = try Writer(descriptor: file, format: format)
            passed.append(Passed(writer: writer))
            return writer
        }
        try Pump(from: try reader.samples(of: track), to: cutter).run()
        #expect(try cutter.finish().map(\.writtenFrames).reduce(0, +) == Int64(Self.noise.frames))
        #expect(passed.count == Self.cuts.count + 1)
    }
}
