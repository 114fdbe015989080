import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Several outputs of one decode: each is what a conversion of its own would give.
@Suite struct SeveralOutputsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// The files of one conversion with all `formats`, and its outcomes.
    private func run(
        _ input: String,
        _ formats: [AudioFormat],
        _ change: (inout Converter.Request) -> Void = { _ in },
        report: Pump.Report? = nil
    ) throws -> (paths: [String], outcomes: [Converter.Outcome]) {
        var request = Converter.Request(format: formats[0], nameHint: input)
        request.furtherFormats = Array(formats.dropFirst())
        change(&request)
        let source = try OpenFile.reading(input)
        let paths = formats.indices.map { folder.path("out-\(formats.count)-\($0)") }
        let files = paths.map { open($0, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        defer { for file in files { close(file) } }
        try #require(files.allSatisfy { $0 >= 0 })
        let outcomes = try Converter(request).run(from: [source.descriptor], to: files, report: report)
        return (paths, outcomes)
    }

    private func expectEachAsAlone(
        _ input: String,
        _ formats: [AudioFormat],
        _ change: (inout Converter.Request) -> Void = { _ in }
    ) throws {
        let together = try run(input, formats, change)
        #expect(together.outcomes.count == formats.count)
        for (index, format) in formats.enumerated() {
            let alone = try run(input, [format], change)
            #expect(together.outcomes[index] == alone.outcomes[0], "\(format)")
            #expect(try Bytes.read(together.paths[index]) == Bytes.read(alone.paths[0]), "\(format)")
            #expect(try !Bytes.read(alone.paths[0]).isEmpty)
        }
    }

    /// Formats whose inputs take samples as they are, rounded, dithered, mixed and resampled.
    private static let formats = [
        AudioFormat(container: .wav, codec: .pcm, bitDepth: 8), AudioFormat(container: .flac, codec: .flac),
        AudioFormat(container: .wav, codec: .pcm, bitDepth: 32, sampleKind: .float),
        AudioFormat(container: .aiff, codec: .pcm), AudioFormat(container: .mp3, codec: .mp3),
        AudioFormat(container: .ogg, codec: .opus), AudioFormat(container: .ogg, codec: .vorbis),
        AudioFormat(container: .m4a, codec: .aac), AudioFormat(container: .m4a, codec: .alac),
        AudioFormat(container: .flac, codec: .flac, sampleRateHz: 48_000, channelCount: 1),
        AudioFormat(container: .wav, codec: .ulaw, sampleRateHz: 8_000, channelCount: 1),
        AudioFormat(container: .flac, codec: .flac, bitDepth: 16, dither: .shaped),
    ]

    private func write(_ format: PCM.SampleFormat, frames: Int = 30_011, amplitude: Double = 0.9) throws -> String {
        let signal = Signal.noise(seed: 9, rate: 44_100, frames: frames, channels: 2, amplitude: amplitude)
        let path = folder.path("in-\(format).wav")
        try WAVFile.write(signal.pcm(format), to: path)
        return path
    }

    @Test(arguments: [PCM.SampleFormat.s16, .s24, .f32])
    func eachOutputIsAsIfItWereTheOnlyOne(source: PCM.SampleFormat) throws {
        try expectEachAsAlone(try write(source), Self.formats) { $0.verifies = true }
    }

    @Test func theOrderMakesNoDifference() throws {
        try expectEachAsAlone(try write(.s24), Self.formats.reversed())
    }

    @Test func rangesAndTagsHoldForAll() throws {
        let range = try MediaTimeRange(
            start: MediaTime(frames: 1_001, rate: 44_100),
            end: MediaTime(frames: 20_500, rate: 44_100)
        )
        try expectEachAsAlone(try write(.s16), Self.formats) { request in
            request.ranges = [range, range]
            request.tags = ["title": "Twice"]
        }
    }

    @Test func aTimelineIsMadeOnce() throws {
        let input = try write(.s24)
        let formats = [
            AudioFormat(container: .flac, codec: .flac, bitDepth: 24), AudioFormat(container: .mp3, codec: .mp3),
            AudioFormat(container: .wav, codec: .pcm, bitDepth: 16),
        ]
        try expectEachAsAlone(input, formats) { request in
            var piece = Piece(.source("talk", .whole))
            piece.fadeIn = Fade(MediaTime(value: 1, timescale: 4))
            request.timeline = Timeline(tracks: [.init(pieces: [piece])])
            request.inputs = [.init(name: "talk", nameHint: input)]
        }
    }

    // MARK: Loudness

    @Test func allOutputsHaveTheLoudness() throws {
        let input = try write(.s24, frames: 300_000, amplitude: 0.2)
        let formats = [
            AudioFormat(container: .ogg, codec: .opus, bitRate: 256_000),
            AudioFormat(container: .flac, codec: .flac, bitDepth: 24),
            AudioFormat(container: .flac, codec: .flac, sampleRateHz: 48_000, bitDepth: 16),
            AudioFormat(container: .mp3, codec: .mp3, bitRate: 320_000),
        ]
        let goal = LoudnessGoal(target: try #require(LoudnessGoal.Target("-23LUFS")))
        let (paths, outcomes) = try run(input, formats) { $0.loudness = goal }
        for (path, outcome) in zip(paths, outcomes) {
            let pcm = try FFmpeg.decode(path, to: .f64)
            let heard = Signal(rate: pcm.rate, channels: (0..<pcm.channels).map { pcm.samples(channel: $0) })
            let reference = try ReferenceLoudness(heard)
            // White noise loses its highest octave in a lossy codec, and with it some of its loudness.
            #expect(abs(reference.integrated + 23) < (outcome.format.isLossless ? 0.1 : 0.6), "\(outcome.format)")
        }
        // The one that keeps most is as if it were the only one.
        let alone = try run(input, [formats[2]]) { $0.loudness = goal }
        #expect(try Bytes.read(paths[2]) == Bytes.read(alone.paths[0]))
    }

    @Test func oneLoudnessCannotSuitDifferentChannels() throws {
        let formats = [
            AudioFormat(container: .flac, codec: .flac), AudioFormat(container: .flac, codec: .flac, channelCount: 1),
        ]
        let goal = LoudnessGoal(target: try #require(LoudnessGoal.Target("-23LUFS")))
        let input = try write(.s16)
        let error = try #require(throws: MediaError.self) { try run(input, formats) { $0.loudness = goal } }
        #expect(
            error.code == .formatRefused && error.hint == "give all outputs the same channels, or convert once for each"
        )
    }

    // MARK: Failures

    @Test func packetsAreNotCopiedBesideADecode() throws {
        let formats = [
            AudioFormat(container: .flac, codec: .flac), AudioFormat(container: .wav, codec: .copy),
        ]
        let input = try write(.s16)
        let error = try #require(throws: MediaError.self) { try run(input, formats) }
        #expect(error.code == .passthroughRefused)
    }

    @Test func anOutputThatFailsIsNamed() throws {
        let input = try write(.s16)
        var request = Converter.Request(format: Self.formats[1], nameHint: input)
        request.furtherFormats = [Self.formats[3]]
        let source = try OpenFile.reading(input)
        let good = try OpenFile.creating(folder.path("good"))
        // The first is refused before any sound is written, the second when its first bytes are.
        for (path, flags, code) in [
            ("/dev/full", O_RDWR, FailureCode.destinationNotSeekable), (folder.path("good"), O_RDONLY, .destinationIO),
        ] {
            let bad = open(path, flags | O_CLOEXEC)
            try #require(bad >= 0)
            defer { close(bad) }
            let error = try #require(throws: MediaError.self) {
                try Converter(request).run(from: [source.descriptor], to: [good.descriptor, bad])
            }
            #expect(error.output == 2 && error.code == code, "\(error)")
        }
    }

    @Test func theLimitOfBytesHoldsForTheLargestOutput() throws {
        let input = try write(.s16, frames: 400_000)
        let formats = [
            AudioFormat(container: .mp3, codec: .mp3, bitRate: 32_000), AudioFormat(container: .wav, codec: .pcm),
        ]
        let error = try #require(throws: MediaError.self) {
            try run(input, formats) { $0.budget.outputBytes = 200_000 }
        }
        #expect(error.code == .outputBytesExceeded)
        _ = try run(input, [formats[0]]) { $0.budget.outputBytes = 200_000 }
    }

    @Test func theLimitOfSecondsCountsAllOutputs() throws {
        // Nine seconds.
        let input = try write(.s16, frames: 400_000)
        let error = try #require(throws: MediaError.self) {
            try run(input, Array(Self.formats.prefix(3))) { $0.budget.decodedSeconds = 20 }
        }
        #expect(error.code == .decodedSecondsExceeded && error.detail.contains("3 outputs"), "\(error)")
        let frame = try #require(error.frame)
        // 20 s of three outputs, and less than eight.
        let possible: ClosedRange<Int64> = 294_000...352_800
        #expect(possible.contains(frame))
        _ = try run(input, Array(Self.formats.prefix(2))) { $0.budget.decodedSeconds = 20 }
    }

    @Test func partsOfASourceCountOnce() throws {
        let input = try write(.s16, frames: 400_000)
        let middle = MediaTime(frames: 200_000, rate: 44_100)
        let start = MediaTime(frames: 0, rate: 44_100)
        let parts = [try MediaTimeRange(start: start, end: middle), try MediaTimeRange(startingAt: middle)]
        _ = try run(input, Array(Self.formats.prefix(2))) {
            $0.outputRanges = parts
            $0.budget.decodedSeconds = 10
        }
    }

    /// What was decoded is 8 kB, which would become 1.6 GB in each output, and the limit 256 MiB.
    @Test func theRatioCountsWhatTheSourceBecomesInAllOutputs() throws {
        let input = folder.path("slow.wav")
        try WAVFile.write(Signal.noise(seed: 4, rate: 4, frames: 4_096).pcm(.s16), to: input)
        let format = AudioFormat(container: .wav, sampleRateHz: 192_000, bitDepth: 64, sampleKind: .float)
        let error = try #require(throws: MediaError.self) {
            try run(input, [format, format]) { $0.budget.expansionRatio = 2_000 }
        }
        #expect(error.code == .expansionExceeded && error.detail.contains("2 outputs"), "\(error)")
    }

    @Test func theRatioCountsTheBytesOfAllSamples() throws {
        func resolved(_ format: AudioFormat) throws -> ResolvedFormat {
            let shape = AudioShape(
                sampleRateHz: 4,
                channelCount: 1,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
            return try format.resolved(for: shape)
        }
        // For each frame of the source 12,000 of two bytes, and 2,000 of a lossy codec, which count as much.
        let formats = [
            try resolved(AudioFormat(container: .flac, sampleRateHz: 48_000)),
            try resolved(AudioFormat(container: .mp3, sampleRateHz: 8_000)),
        ]
        func watch(_ outputs: OutputSound, _ sourceBytes: Int64 = 54_000) -> BudgetWatch {
            BudgetWatch(
                Budget(expansionRatio: 2_000),
                rateHz: 4,
                frameBytes: 2,
                sourceBytes: sourceBytes,
                since: .zero,
                outputs: outputs
            )
        }
        func holds(_ watch: BudgetWatch, _ most: Int64) throws {
            try watch.checkSound(frames: most, rate: 4)
            #expect(throws: MediaError.self) { try watch.checkSound(frames: most + 1, rate: 4) }
            #expect(throws: MediaError.self) { try watch.check(frames: most + 1, rate: 4) }
        }
        let free: Int64 = 256 << 20
        try holds(watch(OutputSound(ofAll: formats)), free / (2 * 14_000))
        try holds(watch(OutputSound(ofParts: formats)), free / (2 * 12_000))
        try holds(watch(.none), free / 2)
        try holds(watch(OutputSound(ofAll: formats), 1 << 20), (2_000 << 20) / (2 * 14_000))
    }

    @Test func verificationAdvancesOverAllOutputs() throws {
        let input = try write(.s16, frames: 400_000)
        var verified: [Int64] = []
        _ = try run(input, [Self.formats[1], Self.formats[3], Self.formats[9]], { $0.verifies = true }) { progress in
            if let frames = progress.verifiedFrames { verified.append(frames) }
        }
        #expect(verified.count > 10 && verified == verified.sorted())
        #expect(verified.allSatisfy { (0...400_000).contains($0) })
        #expect(try #require(verified.max()) > 300_000)
    }
}
